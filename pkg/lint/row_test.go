package lint

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func tree(text string) *jsontree.Node {
	root, _ := jsontree.Parse(diag.NewSource("t.json", text))
	return root
}

func TestPath(t *testing.T) {
	root := tree(`{ "a": { "b": [{ "c": 1 }, { "d": 2 }, { "c": [3, 4] }] }, "tags": { "x": 5, "y": 6 } }`)
	for _, tt := range []struct {
		path  path
		want  []string
		label string
	}{
		{"a.b[].c", []string{"1", "[3,4]"}, "c"},
		{"a.b[].c[]", []string{"3", "4"}, "c"},
		{"a.b", []string{`[{"c":1},{"d":2},{"c":[3,4]}]`}, "b"},
		{"tags.*", []string{"5", "6"}, "tags"},
		{"a.x.y", nil, "y"},
		{"a[]", []string{`[{"c":1},{"d":2},{"c":[3,4]}]`}, "a"},
		{"tags", []string{`{"x":5,"y":6}`}, "tags"},
		{"", []string{string(root.AppendJSON(nil))}, ""},
	} {
		var got []string
		tt.path.walk(root, func(n *jsontree.Node) { got = append(got, string(n.AppendJSON(nil))) })
		if d := cmp.Diff(tt.want, got); d != "" || tt.path.label() != tt.label {
			t.Errorf("%q, label %q: %s", tt.path, tt.path.label(), d)
		}
		tt.path.walk(nil, func(*jsontree.Node) { t.Errorf("%q leads somewhere from a nil node", tt.path) })
	}
}

// A value that AWS has added since the date of the API model is a warning. Any other value
// that is not in the list is an error, with a similar value as the hint.
func TestValuesNewerThanTheModel(t *testing.T) {
	const job = `{ "jobDefinitionName": "a", "type": "container", "platformCapabilities": [%q], "containerProperties": { "image": "a:1" } }`
	const environment = `{ "computeEnvironmentName": "a", "type": "MANAGED", "computeResources": { "type": %q, "allocationStrategy": %q } }`
	for _, tt := range []struct {
		operation, text, rule string
		want                  diag.Severity
		hint                  string
	}{
		{"RegisterJobDefinition", fmt.Sprintf(job, "LAMBDA"), "platform-capability-enum", diag.Error, ""},
		{"RegisterJobDefinition", fmt.Sprintf(job, "Fargate"), "platform-capability-enum", diag.Error, `write "FARGATE"`},
		{"CreateComputeEnvironment", fmt.Sprintf(environment, "EC2", "BEST_FIT_PROGRESSIVE_2026"), "ce-allocation-enum", diag.Warning,
			"if AWS Batch rejects it, write BEST_FIT, BEST_FIT_PROGRESSIVE, SPOT_CAPACITY_OPTIMIZED, SPOT_PRICE_CAPACITY_OPTIMIZED, BEST_FIT_PROGRESSIVE_ORDERED or SPOT_CAPACITY_OPTIMIZED_PRIORITIZED"},
		{"CreateComputeEnvironment", fmt.Sprintf(environment, "EC2", "CHEAPEST"), "ce-allocation-enum", diag.Error, ""},
		{"CreateComputeEnvironment", fmt.Sprintf(environment, "EC2", "BEST_FIT_PROGRESIVE"), "ce-allocation-enum", diag.Error, `write "BEST_FIT_PROGRESSIVE"`},
	} {
		found := byRule(CheckRequest(tt.operation, tree(tt.text)), tt.rule)
		if len(found) != 1 || found[0].Severity != tt.want || found[0].Hint != tt.hint {
			t.Errorf("%s: %v, want %s with %q", tt.text, found, tt.want, tt.hint)
		}
	}
	for value, want := range map[string]bool{
		"WINDOWS_SERVER_2025_CORE": true, "WINDOWS_SERVER_2022_CORE_SLIM": true, "WINDOWS_SERVER_CORE": false, "MACOS": false,
	} {
		if got := looksNewer(value, []string{"LINUX", "WINDOWS_SERVER_2022_CORE"}); got != want {
			t.Errorf("%s looks newer: %v", value, got)
		}
	}
}

// A member that was dropped because of its type is not missing.
func TestUnreadIsNotMissing(t *testing.T) {
	f, problems := document.Load(diag.NewSource("t.json", `{ "jobDefinitionName": "a", "type": "container", "timeout": { "attemptDurationSeconds": 60 },
		"containerProperties": { "image": ["busybox:1"], "environment": [{ "name": 1, "value": "x" }],
		"resourceRequirements": [{ "type": "VCPU", "value": 1 }, { "type": "MEMORY", "value": "512" }] } }`), document.Options{})
	found := Settle(append(problems, Check([]*document.File{f}, nil, Rules())...))
	for _, d := range found {
		if d.Rule != "jobdef-wrong-json-type" {
			t.Error(d)
		}
	}
	if len(found) != 3 {
		t.Errorf("%d problems: %v", len(found), found)
	}
}

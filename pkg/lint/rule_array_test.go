package lint

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// foundOf returns the problems that the rules find in one job file.
func foundOf(t *testing.T, text string, platform *document.Platform) diag.List {
	t.Helper()
	f, problems := document.Load(diag.NewSource("job.json", text), document.Options{Platform: platform, Read: variantFile})
	return append(problems, Check([]*document.File{f}, platform, Rules())...)
}

func sweepJob(array, more string) string {
	return `{ "name": "a", "image": "registry.example.com/a:1", "command": ["a"], "timeout": "1h", "resources": { "vcpus": 1, "memory": "1 GiB" },
		"array": ` + array + more + ` }`
}

// The policy counts all cells, even if they run in several arrays.
func TestPolicyCountsCells(t *testing.T) {
	platform := &document.Platform{Policy: document.Policy{MaxArraySize: 5}}
	for array, want := range map[string]int{
		`{ "matrix": { "a": [1, 2, 3], "b": [1, 2] } }`:                                  1,
		`{ "matrix": { "a": [1, 2, 3], "b": [1, 2] }, "exclude": [{ "a": 1, "b": 1 }] }`: 0,
		`{ "table": "two.csv" }`:                                                 0,
		`{ "size": 6, "maxParallel": 2 }`:                                        1,
		`{ "size": 5, "maxParallel": 2 }`:                                        0,
		`{ "commands": "s3://bucket/list.txt", "size": 6, "launcher": "image" }`: 1,
		`{ "matrix": { "a": [1] }, "include": [{ "a": 2 }, { "a": 3 }, { "a": 4 }, { "a": 5 }, { "a": 6 }] }`: 1,
	} {
		if found := byRule(foundOf(t, sweepJob(array, ""), platform), "policy-max-array-size"); len(found) != want {
			t.Errorf("%s: %v", array, found)
		}
	}
}

// A reference to the value of a child is neither a credential nor an unused parameter.
func TestRulesTakeReferences(t *testing.T) {
	for _, more := range []string{
		`, "environment": { "DB_PASSWORD": "${{ matrix.a }}", "TOKEN": "${{matrix.b}}" }`,
		`, "parameters": { "p": "${{ matrix.a }}" }, "jobDefinition": { "containerProperties": { "command": ["a", "Ref::p"] } }`,
	} {
		for _, d := range foundOf(t, sweepJob(`{ "matrix": { "a": [1, 2], "b": [3] } }`, more), nil) {
			t.Errorf("%s: %v", more, d)
		}
	}
}

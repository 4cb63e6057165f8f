package document

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

func TestCompact(t *testing.T) {
	tests := []struct{ name, register, submit, want string }{
		{"container", `{"jobDefinitionName": "a", "type": "container", "containerProperties": {"image": "i", "command": ["x"], "vcpus": 2,
			"resourceRequirements": [{"type": "VCPU", "value": "0.5"}, {"value": "30720", "type": "MEMORY"}, {"type": "GPU", "value": "1"}],
			"environment": [{"name": "A", "value": "1"}], "secrets": [{"name": "S", "valueFrom": "arn"}],
			"linuxParameters": {"sharedMemorySize": 1000}, "user": "u"}, "timeout": {"attemptDurationSeconds": 5400},
			"retryStrategy": {"attempts": 3}, "tags": {"T": "1"}, "platformCapabilities": ["EC2"]}`, ``,
			`{"name": "a", "image": "i", "command": ["x"], "resources": {"vcpus": 0.5, "memory": "30 GiB", "gpus": 1, "sharedMemory": "1000 MiB"},
			"environment": {"A": "1"}, "secrets": {"S": "arn"}, "user": "u", "retryStrategy": 3, "timeout": "1h30m", "platformCapabilities": ["EC2"],
			"tags": {"T": "1"}, "jobDefinition": {"containerProperties": {"vcpus": 2}}}`},
		{"no short form", `{"jobDefinitionName": "a", "type": "container", "containerProperties": {"image": "i",
			"resourceRequirements": [{"type": "VCPU", "value": "1.0"}], "linuxParameters": {"sharedMemorySize": -1, "swappiness": 3},
			"environment": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], "secrets": []},
			"timeout": {}, "retryStrategy": {"evaluateOnExit": []}}`, ``,
			`{"name": "a", "image": "i", "environment": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], "secrets": {},
			"linuxParameters": {"sharedMemorySize": -1, "swappiness": 3}, "retryStrategy": {"evaluateOnExit": []}, "timeout": {},
			"jobDefinition": {"containerProperties": {"resourceRequirements": [{"type": "VCPU", "value": "1.0"}]}}}`},
		{"EKS", `{"jobDefinitionName": "a", "type": "container", "eksProperties": {"podProperties": {}}, "retryStrategy": {"attempts": 1}}`, ``,
			`{"name": "a", "retryStrategy": 1, "jobDefinition": {"eksProperties": {"podProperties": {}}}}`},
		{"registered", ``, `{"jobName": "a", "jobQueue": "q", "jobDefinition": "d:3", "arrayProperties": {"size": 2}, "tags": {},
			"dependsOn": [{"jobId": "${b}"}, {"jobId": "1", "type": "N_TO_N"}, {"type": "SEQUENTIAL"}, {"jobId": "${c}", "type": "N_TO_N"}],
			"containerOverrides": {"command": ["x"], "instanceType": "p5.48xlarge", "environment": []}, "schedulingPriorityOverride": 1}`,
			`{"name": "a", "definition": "d:3", "command": ["x"], "environment": {}, "queue": "q",
			"dependsOn": ["b", {"jobId": "1", "type": "N_TO_N"}, {"type": "SEQUENTIAL"}, {"job": "c", "type": "N_TO_N"}],
			"array": {"size": 2}, "schedulingPriority": 1, "tags": {}, "submitJob": {"containerOverrides": {"instanceType": "p5.48xlarge"}}}`},
		{"both", `{"jobDefinitionName": "a", "type": "container", "containerProperties": {"image": "i"}, "tags": {"T": "1"}, "propagateTags": true}`,
			`{"jobName": "b", "jobQueue": "q", "jobDefinition": "a", "tags": {"T": "1"}, "containerOverrides": {"command": ["x"]}}`,
			`{"name": "b", "image": "i", "queue": "q", "tags": {"T": "1"}, "jobDefinition": {"jobDefinitionName": "a", "propagateTags": true},
			"submitJob": {"containerOverrides": {"command": ["x"]}}}`},
		{"nothing", ``, ``, `null`},
		{"nothing runs", `{"jobDefinitionName": "a", "type": "container", "containerProperties": {}}`, ``, `null`},
		{"another definition", `{"jobDefinitionName": "a", "type": "container", "containerProperties": {"image": "i"}}`,
			`{"jobName": "a", "jobQueue": "q", "jobDefinition": "a:2"}`, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Compact(tree(tt.register), tree(tt.submit))
			if d := cmp.Diff(string(tree(tt.want).AppendJSON(nil)), string(got.AppendJSON(nil))); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func tree(text string) *jsontree.Node {
	n, _ := jsontree.Parse(diag.NewSource("x", text))
	return n
}

func TestDuration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<31-1).Draw(t, "seconds")
		timeout := jsontree.NewObject(nil)
		timeout.Set("attemptDurationSeconds", jsontree.NewInt(n, nil))
		if got, err := seconds(duration(timeout)); err != nil || got != n {
			t.Errorf("%d became %d, %v", n, got, err)
		}
	})
}

// TestConvert checks that a pair of requests is the same after its conversion to the
// compact form and back.
func TestConvert(t *testing.T) {
	short := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			register, submit := anyPair(t)
			compact := Compact(register, submit)
			if compact == nil {
				t.Fatalf("no compact form of\n%s\n%s", register.AppendJSON(nil), submit.AppendJSON(nil))
			}
			f, diags := Load(diag.NewSource("x", string(compact.AppendJSON(nil))), Options{Kind: KindJob})
			if diags.HasErrors() {
				t.Fatalf("%s\n%v", compact.AppendJSON(nil), diags)
			}
			r, s := Native(f.Jobs[0])
			same(t, compact, register, r)
			if submit != nil {
				same(t, compact, namesLast(submit), s)
			}
			if compact.Get("resources") != nil || compact.Get("environment").Is(jsontree.Object) {
				short++
			}
		}
	})
	if short < 10 {
		t.Errorf("only %d jobs had a short form", short)
	}
}

// anyPair draws a job definition, a submission, or a matching pair.
func anyPair(t *rapid.T) (register, submit *jsontree.Node) {
	which := rapid.IntRange(0, 2).Draw(t, "which")
	if which != 1 {
		register = cleanRequest(t, KindJobDefinition).Register
		if fragmentName(register) == "" {
			image := tree(`{"containerProperties": {"image": "i"}}`)
			register = jsontree.Merge(register, image)
		}
	}
	if which != 0 {
		submit = cleanRequest(t, KindSubmitJob).Submit
		if register != nil {
			submit.Set("jobDefinition", register.Get("jobDefinitionName").Clone())
		}
	}
	return register, submit
}

func same(t *rapid.T, compact, want, got *jsontree.Node) {
	t.Helper()
	if !reflect.DeepEqual(want.Value(), got.Value()) {
		t.Fatalf("%s\nbecame\n%s\nby way of\n%s", want.AppendJSON(nil), got.AppendJSON(nil), compact.AppendJSON(nil))
	}
}

// cleanRequest draws a native request in the form that Load returns.
func cleanRequest(t *rapid.T, kind Kind) *Job {
	text := valid(shapes[kind]()).Draw(t, string(kind)).AppendJSON(nil)
	f, diags := Load(diag.NewSource("x", string(text)), Options{Kind: kind})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return f.Jobs[0]
}

// namesLast moves the dependencies by name to the end, as Native does.
func namesLast(submit *jsontree.Node) *jsontree.Node {
	out := submit.Clone()
	list := slices.Collect(submit.Get("dependsOn").Children())
	if len(list) == 0 {
		return out
	}
	byName := func(d *jsontree.Node) bool {
		_, err := reference(d.Get("jobId").Str())
		typ := d.Get("type")
		return err == nil && (typ == nil || typ.Str() != "")
	}
	sorted := jsontree.NewArray(nil)
	for _, names := range []bool{false, true} {
		for _, d := range list {
			if byName(d) == names {
				sorted.Append(d.Clone())
			}
		}
	}
	out.Set("dependsOn", sorted)
	return out
}

// TestConvertJobs converts the compact jobs of testdata to requests and back.
func TestConvertJobs(t *testing.T) {
	for _, a := range golden.Cases(t, "testdata/lower.txtar") {
		t.Run(a.Name, func(t *testing.T) {
			f, _ := open(t, a)
			for _, job := range f.Jobs {
				if why, hint := NoNative(job); why != "" {
					if hint == "" {
						t.Errorf("%s: no hint: %s", job.Name, why)
					}
					continue
				}
				register, submit := Native(job)
				compact := Compact(register, submit)
				if compact == nil {
					t.Errorf("%s: no compact form of %s", a.Name, job.Name)
					continue
				}
				back, diags := Load(diag.NewSource("x", string(compact.AppendJSON(nil))), Options{Kind: KindJob})
				if diags.HasErrors() {
					t.Fatal(diags)
				}
				r, s := Native(back.Jobs[0])
				for _, pair := range [][2]*jsontree.Node{{register, r}, {submit, s}} {
					if pair[0] == nil {
						continue
					}
					want, _ := json.Marshal(pair[0].Value())
					got, _ := json.Marshal(pair[1].Value())
					if d := cmp.Diff(strings.Split(string(want), ","), strings.Split(string(got), ",")); d != "" {
						t.Errorf("%s: %s (-want +got):\n%s", a.Name, job.Name, d)
					}
				}
			}
		})
	}
}

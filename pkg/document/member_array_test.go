package document

import (
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Without Options.Read, nothing is read and there is no problem.
func TestArraysWithoutReading(t *testing.T) {
	for members, size := range map[string]string{
		`"command": ["c", "${{ matrix.x }}"], "array": {"table": "runs.csv"}`: "",
		`"array": {"commands": "commands.txt", "size": 4}`:                    "4",
	} {
		j := load(t, `{"name": "a", "image": "i", `+members+`}`, Options{}).Jobs[0]
		got := ""
		if n := j.Submit.Get("arrayProperties").Get("size"); n != nil {
			got = n.Text
		}
		if j.Sweep != nil || j.Array == nil || got != size {
			t.Errorf("%s: %+v, %s", members, j.Sweep, j.Submit.AppendJSON(nil))
		}
	}
}

// The children read a command list in S3 themselves, so its sweep is always known.
func TestCommandListInS3(t *testing.T) {
	f := load(t, `{"name": "a", "image": "i", "array": {"commands": "s3://bucket/list.txt", "size": 4}}`, Options{KeepGoing: true})
	s := f.Jobs[0].Sweep
	if s == nil || s.List != "s3://bucket/list.txt" || s.Size != 4 || !s.KeepGoing || s.Launcher != sweep.Shell || s.Lines != nil {
		t.Errorf("%+v", s)
	}
}

// The topmost layer decides what the children are. How they are started is merged.
func TestArraysOfDefaults(t *testing.T) {
	for _, tt := range []struct{ defaults, job, want string }{
		{`{"size": 4}`, ``, `{"size":4}`},
		{`{"size": 4}`, `"array": {"matrix": {"a": [1, 2]}}`, `{"matrix":{"a":[1,2]}}`},
		{`{"matrix": {"a": [1, 2]}, "exclude": [{"a": 1}]}`, `"array": {"matrix": {"b": [3, 4]}}`, `{"matrix":{"b":[3,4]}}`},
		{`{"matrix": {"a": [1, 2]}}`, `"array": {"size": 4}`, `{"size":4}`},
		{`{"matrix": {"a": [1, 2]}}`, `"array": {"maxParallel": 4}`, `{"matrix":{"a":[1,2]},"maxParallel":4}`},
		{`{"launcher": "image", "maxParallel": 2}`, `"array": {"matrix": {"a": [1, 2]}, "maxParallel": 4}`, `{"launcher":"image","maxParallel":4,"matrix":{"a":[1,2]}}`},
		{`{"launcher": "image"}`, `"array": {"size": 4}`, `{"launcher":"image","size":4}`},
		{`{"launcher": "image"}`, ``, ``},
	} {
		job := `{"name": "a", "image": "i", "command": ["c"]`
		if tt.job != "" {
			job += ", " + tt.job
		}
		f := load(t, `{"name": "w", "defaults": {"array": `+tt.defaults+`}, "jobs": [`+job+`}]}`, Options{})
		got := ""
		if a := f.Jobs[0].Array; a != nil {
			got = string(a.AppendJSON(nil))
		}
		if got != tt.want {
			t.Errorf("%s under %s: %s, want %s", tt.job, tt.defaults, got, tt.want)
		}
	}
}

// A command of the defaults does not apply to a job whose children run a list.
func TestCommandOfDefaultsBesideAList(t *testing.T) {
	f := load(t, `{"name": "w", "defaults": {"command": ["c"]}, "jobs": [
		{"name": "a", "image": "i", "array": {"commands": "s3://bucket/list.txt", "size": 4}},
		{"name": "b", "image": "i", "array": {"commands": "s3://bucket/list.txt", "size": 4, "launcher": "image"}}]}`, Options{})
	for i, want := range []bool{false, true} {
		if got := f.Jobs[i].Register.Get("containerProperties").Get("command") != nil; got != want {
			t.Errorf("job %s has a command: %v, want %v", f.Jobs[i].Name, got, want)
		}
	}
}

// More cells than the largest array has children give an array of the largest size.
func TestLargeSweep(t *testing.T) {
	axis := `["` + strings.Join(strings.Split(strings.Repeat("x", 150), ""), `", "`) + `"]`
	for i := 0; strings.Contains(axis, `"x"`); i++ {
		axis = strings.Replace(axis, `"x"`, `"v`+strings.Repeat("i", i)+`"`, 1)
	}
	f := load(t, `{"name": "a", "image": "i", "command": ["c"], "array": {"matrix": {"a": `+axis+`, "b": `+axis+`}}}`, Options{})
	if size := f.Jobs[0].Submit.At("arrayProperties", "size").Text; size != "10000" || f.Jobs[0].Sweep.Len() != 22500 {
		t.Errorf("size %s of %d cells", size, f.Jobs[0].Sweep.Len())
	}
}

// Parameters of the command line may also refer to values.
func TestReferencesInGivenParameters(t *testing.T) {
	parameters := jsontree.NewObject(nil)
	parameters.Set("lr", jsontree.NewString("${{matrix.lr}}", nil))
	f := load(t, `{"name": "a", "image": "i", "command": ["c", "Ref::lr"], "array": {"matrix": {"lr": [1, 2]}}}`, Options{Parameters: parameters})
	if got := f.Jobs[0].Submit.At("parameters", "lr").Text; got != "${{ matrix.lr }}" {
		t.Errorf("parameter %s", got)
	}
	_, diags := Load(diag.NewSource("job.json", `{"name": "a", "image": "i", "array": {"matrix": {"rate": [1]}}, "command": ["c"]}`), Options{Parameters: parameters})
	if len(diags) != 1 || diags[0].Rule != RuleMatrixReference {
		t.Errorf("%v", diags)
	}
}

func TestNoNative(t *testing.T) {
	for members, want := range map[string]string{
		`"array": {"size": 4}`:                          "",
		`"array": {"size": 4, "maxParallel": 2}`:        "maxParallel",
		`"array": {"table": "runs.csv"}`:                "table",
		`"array": {"matrix": {"a": [1]}}`:               "matrix",
		`"when": "failure", "dependsOn": ["b"]`:         "failure",
		`"when": "success", "dependsOn": ["b"]`:         "",
		`"dependsOn": [{"jobName": "b"}]`:               `"b"`,
		`"dependsOn": [{"job": "b", "type": "N_TO_N"}]`: "",
	} {
		f := load(t, `{"name": "a", "image": "i", "command": ["c"], `+members+`}`, Options{})
		why, hint := NoNative(f.Jobs[0])
		if !strings.Contains(why, want) || (why == "") != (want == "") || (hint == "") != (why == "") {
			t.Errorf("%s: %q, %q", members, why, hint)
		}
	}
}

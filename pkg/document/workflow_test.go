package document

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// TestWorkflow checks that the requests of several jobs are the same after their
// conversion to a workflow and back, with any names, and that each waits for the same job
// as before.
func TestWorkflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pairs []Requests
		var jobs []*jsontree.Node
		var files [][]*jsontree.Node
		waits := map[int]int{}
		for range rapid.IntRange(1, 3).Draw(t, "files") {
			files = append(files, nil)
			first := len(jobs)
			for i := range rapid.IntRange(1, 3).Draw(t, "jobs") {
				pair := called(t, i)
				if i > 0 && rapid.Bool().Draw(t, "waits") {
					waits[len(jobs)] = first
					waitFor(pair.Submit, pairs[first].Submit.Get("jobName").Str())
				}
				pairs = append(pairs, pair)
				jobs = append(jobs, Compact(pair.Register, pair.Submit))
				files[len(files)-1] = append(files[len(files)-1], jobs[len(jobs)-1])
			}
		}
		text := Workflow("flow", files).AppendJSON(nil)
		f, diags := Load(diag.NewSource("x", string(text)), Options{})
		if diags.HasErrors() || f.Kind != KindWorkflow || f.Name != "flow" {
			t.Fatalf("%s %q\n%s\n%v", f.Kind, f.Name, text, diags)
		}
		names := map[string]bool{}
		for i, back := range NativeEach(f.Jobs) {
			same(t, jobs[i], pairs[i].Submit, back.Submit)
			if pairs[i].Register != nil {
				same(t, jobs[i], pairs[i].Register, back.Register)
			}
			names[f.Jobs[i].Name] = true
		}
		if len(names) != len(jobs) {
			t.Fatalf("the names are not unique in\n%s", text)
		}
		for i, first := range waits {
			if d := f.Jobs[i].DependsOn; len(d) != 1 || d[0].Job != f.Jobs[first].Name {
				t.Fatalf("job %d waits for %v in\n%s", i, d, text)
			}
		}
	})
}

// called draws a job with one of a few names. The first job of a file has a unique name,
// so that others can wait for it.
func called(t *rapid.T, i int) Requests {
	register, submit := anyPair(t)
	if submit == nil {
		submit = cleanRequest(t, KindSubmitJob).Submit
		submit.Set("jobDefinition", register.Get("jobDefinitionName").Clone())
	}
	name := rapid.SampledFrom([]string{"a", "a-2", "b"}).Draw(t, "name")
	if i == 0 {
		name = "first"
	}
	submit.Set("jobName", jsontree.NewString(name, nil))
	return Requests{register, without(submit, []string{"dependsOn"})}
}

func waitFor(submit *jsontree.Node, name string) {
	entry := jsontree.NewObject(nil)
	entry.Set("jobId", jsontree.NewString(referenceTo(name), nil))
	list := jsontree.NewArray(nil)
	list.Append(entry)
	submit.Set("dependsOn", list)
}

// TestNativeEach checks that references between jobs become their names at AWS.
func TestNativeEach(t *testing.T) {
	f, diags := Load(diag.NewSource("x", `{"name": "flow", "jobs": [
		{"name": "one", "definition": "d", "submitJob": {"jobName": "first"}},
		{"name": "two", "definition": "d", "dependsOn": ["one", {"job": "three", "type": "N_TO_N"}]},
		{"name": "three", "image": "i", "dependsOn": [{"jobId": "9"}]}]}`), Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var got []string
	for _, r := range NativeEach(f.Jobs) {
		got = append(got, fmt.Sprintf("%s %s", r.Submit.Get("jobName").Str(), r.Submit.Get("dependsOn").AppendJSON(nil)))
	}
	want := []string{"first null", `two [{"jobId":"${first}"},{"jobId":"${three}","type":"N_TO_N"}]`, `three [{"jobId":"9"}]`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

package document

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// anyPlaces draws inputs, outputs and a checkpoint that a request can contain.
func anyPlaces(t *rapid.T, job *jsontree.Node) {
	path := rapid.StringMatching(`(/[a-z "\\.]{1,4}){1,2}|[a-z]{1,3}`)
	place := rapid.SampledFrom([]string{"s3://bucket/key", "s3://bucket/prefix/", "s3://b/${AWS_BATCH_JOB_ID}/", "s3://b/<&>/ü", "https://host/f"})
	inputs, outputs := jsontree.NewObject(nil), jsontree.NewObject(nil)
	for range rapid.IntRange(0, 3).Draw(t, "inputs") {
		sum := ""
		if rapid.Bool().Draw(t, "pinned") {
			sum = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c"
		}
		addLocation(inputs, path.Draw(t, "path"), "source", place.Draw(t, "source"), "sha256", sum)
	}
	for range rapid.IntRange(0, 3).Draw(t, "outputs") {
		addLocation(outputs, path.Draw(t, "path"), "destination", place.Draw(t, "destination"), "when", rapid.SampledFrom([]string{"", "always", "failure"}).Draw(t, "when"))
	}
	for name, places := range map[string]*jsontree.Node{"inputs": inputs, "outputs": outputs} {
		if places.Len() > 0 {
			job.Set(name, places)
		}
	}
	if rapid.Bool().Draw(t, "saved") {
		c := jsontree.NewObject(nil)
		c.Set("path", jsontree.NewString(path.Draw(t, "directory"), nil))
		c.Set("to", jsontree.NewString(rapid.SampledFrom([]string{"s3://b/c/", "s3://b/${AWS_BATCH_JOB_ID}/", "/efs/c"}).Draw(t, "to"), nil))
		if every := rapid.SampledFrom([]string{"", "10s", "1h30m", "1d"}).Draw(t, "every"); every != "" {
			c.Set("every", jsontree.NewString(every, nil))
		}
		job.Set("checkpoint", c)
	}
}

// TestConvertStaged checks that inputs, outputs, checkpoints, metrics and rungs are the same after the conversion to
// requests and back.
func TestConvertStaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := tree(rapid.SampledFrom([]string{
			`{"name": "a", "image": "i", "command": ["c", "--", "d"]}`,
			`{"name": "a", "definition": "d:1", "command": ["c"]}`,
			`{"name": "a", "image": "i", "command": ["c"], "environment": {"X": "1"}}`,
		}).Draw(t, "base"))
		anyPlaces(t, job)
		if rapid.Bool().Draw(t, "measured") {
			metrics := jsontree.NewObject(nil)
			for range rapid.IntRange(1, 3).Draw(t, "metrics") {
				name := rapid.StringMatching(`[a-z][a-z_/.%-]{0,3}x`).Draw(t, "metric")
				metrics.Set(name, jsontree.NewString(rapid.SampledFrom([]string{`(\d+) "x"`, "a: ([0-9.]+)", "<(\\S+)>", "ü\t(.)"}).Draw(t, "expression"), nil))
			}
			job.Set("metrics", metrics)
		}
		if rapid.Bool().Draw(t, "climbs") {
			job.Set("onFailure", tree(`[{"outOfMemory": {"memory": "x1.5", "upTo": "120 GiB"}}, {"spotReclaim": {"attempts": 2, "queue": "b"}},
				{"noCapacity": {"after": "20m", "queue": "b"}}, {"hostError": {"attempts": 1}}, {"exitCodes": {"codes": [75], "attempts": 2}}]`))
		}
		if rapid.Bool().Draw(t, "usage") {
			job.Set("measure", tree("true"))
		}
		f, diags := Load(diag.NewSource("x", string(job.AppendJSON(nil))), Options{Kind: KindJob})
		if len(diags) > 0 {
			t.Fatalf("%s\n%v", job.AppendJSON(nil), diags)
		}
		if why, _ := NoNative(f.Jobs[0]); why != "" {
			t.Fatal(why)
		}
		same(t, job, job, Compact(Native(f.Jobs[0])))
	})
}

// TestConvertForeignDocuments checks that a request keeps a document that batchctl would
// write differently.
func TestConvertForeignDocuments(t *testing.T) {
	const document = `{\"version\":1,\"inputs\":[{\"from\":\"s3://b/k\",\"to\":\"/a\"}]}`
	const request = `{"jobDefinitionName": "a", "type": "container", "containerProperties": {"image": "i", "command": %s, "environment": %s}}`
	stage := `{"name": "BATCHCTL_STAGE", "value": "` + document + `"}`
	staged := `["batchctl", "stage", "--", "c"]`
	for name, c := range map[string]struct {
		command, environment string
		found                bool
	}{
		"ours":              {staged, `[` + stage + `]`, true},
		"ours with others":  {staged, `[{"name": "X", "value": "1"}, ` + stage + `]`, true},
		"not last":          {staged, `[` + stage + `, {"name": "X", "value": "1"}]`, false},
		"twice":             {staged, `[` + stage + `, ` + stage + `]`, false},
		"no command":        {`["batchctl", "stage", "--"]`, `[` + stage + `]`, false},
		"another command":   {`["c"]`, `[` + stage + `]`, false},
		"another program":   {`["/batchctl/batchctl", "stage", "--", "c"]`, `[` + stage + `]`, false},
		"another version":   {staged, `[{"name": "BATCHCTL_STAGE", "value": "{\"version\":2,\"inputs\":[{\"from\":\"s3://b/k\",\"to\":\"/a\"}]}"}]`, false},
		"with spaces":       {staged, `[{"name": "BATCHCTL_STAGE", "value": "{\"version\": 1,\"inputs\":[{\"from\":\"s3://b/k\",\"to\":\"/a\"}]}"}]`, false},
		"an unknown member": {staged, `[{"name": "BATCHCTL_STAGE", "value": "{\"version\":1,\"inputs\":[{\"from\":\"s3://b/k\",\"to\":\"/a\",\"x\":1}]}"}]`, false},
		"a path of a host":  {staged, `[{"name": "BATCHCTL_STAGE", "value": "{\"version\":1,\"inputs\":[{\"from\":\"/etc/passwd\",\"to\":\"/a\"}]}"}]`, false},
		"one path twice":    {staged, `[{"name": "BATCHCTL_STAGE", "value": "{\"version\":1,\"inputs\":[{\"from\":\"s3://b/k\",\"to\":\"/a\"},{\"from\":\"s3://b/k\",\"to\":\"/a\"}]}"}]`, false},
		"nothing":           {staged, `[{"name": "BATCHCTL_STAGE", "value": "{\"version\":1}"}]`, false},
		"no document":       {staged, `[{"name": "BATCHCTL_STAGE", "value": "x"}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			register := tree(fmt.Sprintf(request, c.command, c.environment))
			compact := Compact(register, nil)
			if found := compact.Get("inputs") != nil; found != c.found {
				t.Errorf("%s", compact.AppendJSON(nil))
			}
			f, diags := Load(diag.NewSource("x", string(compact.AppendJSON(nil))), Options{Kind: KindJob})
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			again, _ := Native(f.Jobs[0])
			if got, want := again.Value(), register.Value(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v became %v", want, got)
			}
		})
	}
}

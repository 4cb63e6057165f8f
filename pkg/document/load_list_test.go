package document

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

func TestReference(t *testing.T) {
	for in, want := range map[string]string{"${a}": "a", "${other-job_1}": "other-job_1", "${0}": "0"} {
		if got, err := reference(in); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	const choose = `write "${name}" with the jobName of a job in this file, or the id of a submitted job`
	for in, hint := range map[string]string{
		"${a":     `did you mean "${a}"?`,
		"$a":      `did you mean "${a}"?`,
		"{a}":     `did you mean "${a}"?`,
		"${ a }":  `did you mean "${a}"?`,
		"$${a}":   `did you mean "${a}"?`,
		"${}":     choose,
		"$":       choose,
		"${a b}":  choose,
		"${a}{b}": choose,
		"${ä}":    choose,
	} {
		if got, err := reference(in); err == nil || hintOf(err) != hint {
			t.Errorf("%s: %q, hint %q, want %q", in, got, hintOf(err), hint)
		}
	}
}

// TestJobListPlaces checks that jobs and dependencies have the locations of the user's
// text.
func TestJobListPlaces(t *testing.T) {
	const text = `{"jobs": [3, {"jobName": "a", "jobQueue": "q", "jobDefinition": "d", "dependsOn": [{"jobId": "${b}"}]}]}`
	f, diags := Load(diag.NewSource("x", text), Options{Kind: KindJobList})
	if len(diags) != 1 || len(f.Jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(f.Jobs), diags)
	}
	j := f.Jobs[0]
	if j.Node != f.Root.At("jobs", "1") || j.Submit.Get("dependsOn") != nil {
		t.Errorf("job %s", j.Submit.AppendJSON(nil))
	}
	if len(j.DependsOn) != 1 || textOf(j.DependsOn[0].Node) != `{"jobId": "${b}"}` {
		t.Errorf("dependencies %v", j.DependsOn)
	}
}

package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
)

// An unknown member is renamed if it has no other mistake.
func TestUnknownMemberIsRenamed(t *testing.T) {
	const rest = `"name": "a", "image": "b:1", `
	for text, want := range map[string]string{
		`{` + rest + `"comand": ["x"] }`:                   `{` + rest + `"command": ["x"] }`,
		`{` + rest + `"Command": ["x"] }`:                  `{` + rest + `"command": ["x"] }`,
		`{` + rest + `"env": { "A": "b" } }`:               `{` + rest + `"environment": { "A": "b" } }`,
		`{` + rest + `"resources": { "cpus": 2 } }`:        `{` + rest + `"resources": { "vcpus": 2 } }`,
		`{` + rest + `"com\u0061nd": ["x"] }`:              `{` + rest + `"command": ["x"] }`,
		`{` + rest + `'comand': ["x"] }`:                   `{` + rest + `"command": ["x"] }`,
		`{` + rest + `comand: ["x"] }`:                     `{` + rest + `"command": ["x"] }`,
		`{ "jobName": "a", "image": "b:1" }`:               `{ "name": "a", "image": "b:1" }`,
		`{` + rest + `"comand": ["x"], "commnd": ["y"] }`:  `{` + rest + `"command": ["x"], "commnd": ["y"] }`,
		`{` + rest + `"comand": ["x"], "command": ["y"] }`: `{` + rest + `"comand": ["x"], "command": ["y"] }`,
		// another form
		`{` + rest + `"resourceRequirements": [] }`: `{` + rest + `"resourceRequirements": [] }`,
		// another place
		`{` + rest + `"vcpus": 2 }`:                                 `{` + rest + `"vcpus": 2 }`,
		`{` + rest + `"timeout": { "attempDurationSeconds": 60 } }`: `{` + rest + `"timeout": { "attemptDurationSeconds": 60 } }`,
	} {
		src := diag.NewSource("t.json", text)
		for range 3 {
			_, problems := Load(src, Options{Kind: KindJob})
			fixed, _ := diag.Apply(src, problems)
			src = diag.NewSource("t.json", fixed)
		}
		if d := cmp.Diff(want, src.Text); d != "" {
			t.Errorf("%s: -want +got:\n%s", text, d)
		}
	}
}

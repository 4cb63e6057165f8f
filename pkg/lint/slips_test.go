package lint

import (
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// TestOneSlipOneError checks that a slip in a job file is one error, and its hint is right the
// first time. Each line is a file, and what is found in it as "message => hint".
func TestOneSlipOneError(t *testing.T) {
	const resources = `"resources": { "vcpus": 1, "memory": 512 }, "timeout": "1h"`
	const definition = `"containerProperties": { "image": "b:1", "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "512" }] },
		"timeout": { "attemptDurationSeconds": 600 }`
	for _, tt := range []struct {
		text string
		want []string
	}{
		{`{ "image": "b:1", "command": ["x"], ` + resources + ` }`, []string{`a job needs a name => add "name", such as "resnet-train"`}},
		{`{ "command": ["x"], "image": "b:1", ` + resources + `, "jobName": "a" }`, []string{`unknown member "jobName" => write "name"`}},
		{`{ "jobDefinitionName": "a", "image": "b:1", "command": ["x"], ` + resources + ` }`, []string{`unknown member "jobDefinitionName" => write "name"`}},
		{`{ "nmae": "a", "image": "b:1", ` + resources + ` }`, []string{`unknown member "nmae" => write "name"`}},
		{`{ "Name": "a", "image": "b:1", ` + resources + ` }`, []string{`unknown member "Name" => write "name": case matters`}},
		{`{ "name": "a", "imgae": "b:1", ` + resources + ` }`, []string{`unknown member "imgae" => write "image"`}},
		{`{ "name": "a", "image": "b:1", "comand": ["x"], ` + resources + ` }`, []string{`unknown member "comand" => write "command"`}},
		{`{ "name": "a", "image": "b:1", "cmd": ["x"], ` + resources + ` }`, []string{`unknown member "cmd" => write "command"`}},
		{`{ "name": "a", "image": "b:1", "env": { "A": "1" }, ` + resources + ` }`, []string{`unknown member "env" => write "environment"`}},
		{`{ "name": "a", "image": "b:1", "env": [{ "name": "A", "value": "1" }], ` + resources + ` }`, []string{`unknown member "env" => write "environment"`}},
		{`{ "name": "a", "image": "b:1", "environment": [{ "name": "A", "value": "1" }], ` + resources + ` }`, nil},
		{`{ "name": "a", "image": "b:1", "jobQueue": "q", ` + resources + ` }`, []string{`unknown member "jobQueue" => write "queue"`}},
		{`{ "name": "a", "image": "b:1", "gpus": 1, ` + resources + ` }`, []string{`unknown member "gpus" => move it into "resources"`}},
		{`{ "name": "a", "image": "b:1", "gpu": 1, ` + resources + ` }`, []string{`unknown member "gpu" => write "gpus" in "resources"`}},
		{`{ "name": "a", "image": "b:1", "vcpus": 1, "resources": { "memory": 512 }, "timeout": "1h" }`, []string{`unknown member "vcpus" => move it into "resources"`}},
		{`{ "name": "a", "image": "b:1", "cpu": 1, "resources": { "memory": 512 }, "timeout": "1h" }`, []string{`unknown member "cpu" => write "vcpus" in "resources"`}},
		{`{ "name": "a", "image": "b:1", "memory": 512, "resources": { "vcpus": 1 }, "timeout": "1h" }`, []string{`unknown member "memory" => move it into "resources"`}},
		{`{ "name": "a", "image": "b:1", "mem": 512, "resources": { "vcpus": 1 }, "timeout": "1h" }`, []string{`unknown member "mem" => write "memory" in "resources"`}},
		{`{ "name": "a", "image": "b:1", "resources": { "cpu": 1, "memory": 512 }, "timeout": "1h" }`, []string{`unknown member "cpu" => write "vcpus"`}},
		{`{ "name": "a", "image": "b:1", "resources": { "vcpus": 1, "memmory": 512 }, "timeout": "1h" }`, []string{`unknown member "memmory" => write "memory"`}},
		{`{ "name": "a", "image": "b:1", "resouces": { "vcpus": 1, "memory": 512 }, "timeout": "1h" }`, []string{`unknown member "resouces" => write "resources"`}},
		{`{ "name": "a", "image": "b:1", "policy": {}, ` + resources + ` }`, []string{`unknown member "policy" => `}},
		{`{ "name": "w", "jobs": [{ "image": "b:1", ` + resources + ` }] }`, []string{`a job needs a name => add "name", such as "resnet-train"`}},
		{`{ "name": "w", "job": [{ "name": "a", "image": "b:1", ` + resources + ` }] }`, []string{`unknown member "job" => write "jobs"`}},
		{`{ "jobDefinitionName": "x", "type": "container", ` + definition + `, "command": ["x"] }`,
			[]string{`the API has no member "command" here => it belongs in "containerProperties"`}},
		{`{ "name": "x", "type": "container", ` + definition + ` }`, []string{`the API has no member "name" here => write "jobDefinitionName"`}},
		{`{ "type": "container", ` + definition + ` }`, []string{`a job definition needs jobDefinitionName => add "jobDefinitionName": "..."`}},
	} {
		f, problems := document.Load(diag.NewSource("t.json", tt.text), document.Options{})
		var got []string
		for _, d := range Settle(append(problems, Check([]*document.File{f}, nil, Rules())...)) {
			if d.Severity == diag.Error {
				got = append(got, d.Message+" => "+d.Hint)
			}
		}
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

// TestPolicyUnits checks that a message about the policy has the units of the job's own file.
func TestPolicyUnits(t *testing.T) {
	platform, _ := document.Load(diag.NewSource("batchctl.json", `{ "policy": { "maxTimeout": "24h", "maxMemory": "1 TiB", "requiredTags": ["Team"], "maxAttempts": 1 } }`),
		document.Options{Kind: document.KindPlatform})
	for text, want := range map[string][]string{
		`{ "name": "a", "image": "b:1", "resources": { "vcpus": 1, "memory": "2 TiB" }, "timeout": "48h", "retryStrategy": { "attempts": 2 }, "tags": { "team": "x" } }`: {
			"the policy allows 1 TiB, but the job requests 2 TiB",
			"the policy allows a timeout of at most 24h, but the job has 48h",
			"the policy allows 1 attempt, but the job requests 2",
			`the policy requires the tag "Team", but the job has "team"`,
		},
		`{ "name": "a", "image": "b:1", "resources": { "vcpus": 1, "memory": "1 GiB" }, "timeout": "2d", "tags": { "Team": "x" } }`: {
			"the policy allows a timeout of at most 24h, but the job has 2d",
		},
		`{ "name": "a", "image": "b:1", "resources": { "vcpus": 1, "memory": "1 GiB" }, "timeout": { "attemptDurationSeconds": 91800 }, "tags": { "Team": "x" } }`: {
			"the policy allows a timeout of at most 24h, but the job has 25h30m",
		},
		`{ "name": "a", "image": "b:1", "resources": { "vcpus": 1, "memory": "1 GiB" }, "tags": {} }`: {
			"the policy requires a timeout of at most 24h, but the job has no timeout",
			`the policy requires the tag "Team"`,
		},
		`{ "jobDefinitionName": "x", "type": "container", "timeout": { "attemptDurationSeconds": 172800 }, "tags": { "TEAM": "x" },
			"containerProperties": { "image": "b:1", "resourceRequirements": [{ "type": "VCPU", "value": "1" }, { "type": "MEMORY", "value": "2097152" }] } }`: {
			"the policy allows a timeout of at most 86400 seconds (24h), but the job has 172800 seconds (48h)",
			`the policy requires the tag "Team", but the job has "TEAM"`,
			"the policy allows 1048576 MiB (1 TiB), but the job requests 2097152 MiB (2 TiB)",
		},
	} {
		f, problems := document.Load(diag.NewSource("t.json", text), document.Options{Platform: platform.Platform})
		all := append(problems, Check([]*document.File{f}, platform.Platform, Rules())...)
		all.Sort()
		var got []string
		for _, d := range all {
			if strings.HasPrefix(d.Rule, "policy-") {
				got = append(got, d.Message)
			}
		}
		for _, line := range want {
			if !strings.Contains(strings.Join(got, "\n")+"\n", line+"\n") {
				t.Errorf("%s\nlacks %q in %q", text, line, got)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s\nfound %q", text, got)
		}
	}
}

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
		`{` + rest + `"vcpus": 2 }`:                                 `{` + rest + `"resources": { "vcpus": 2 } }`,
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

// TestMembersOfOtherRequests checks that a member of another request is an error that names the request.
func TestMembersOfOtherRequests(t *testing.T) {
	for text, want := range map[string]string{
		`{"computeEnvironmentName": "n", "type": "MANAGED", "updatePolicy": {"terminateJobsOnUpdate": false}}`:                                                   "it belongs in UpdateComputeEnvironment",
		`{"computeEnvironmentName": "n", "type": "MANAGED", "computeResources": {"type": "EC2", "updateToLatestImageVersion": true}}`:                            "it belongs in UpdateComputeEnvironment",
		`{"consumableResourceName": "n", "totalQuantity": 1, "operation": "SET"}`:                                                                                "it belongs in UpdateConsumableResource",
		`{"jobQueueName": "n", "priority": 1, "computeEnvironmentOrder": [], "fairsharePolicy": {}}`:                                                             "it belongs in CreateSchedulingPolicy",
		`{"jobDefinitionName": "n", "type": "container", "jobQueue": "q"}`:                                                                                       "it belongs in SubmitJob",
		`{"computeEnvironments": [{"computeEnvironmentName": "n", "type": "MANAGED", "updatePolicy": {}}], "jobQueues": [{"jobQueueName": "q", "priority": 1}]}`: "it belongs in UpdateComputeEnvironment",
	} {
		_, problems := Load(diag.NewSource("x.json", text), Options{})
		found := false
		for _, p := range problems {
			found = found || p.Rule == RuleUnknownMember && p.Severity == diag.Error && p.Hint == want
		}
		if !found {
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
	}
}

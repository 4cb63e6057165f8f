package document

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// TestVariablesArePlaceholders checks the values of a request in which $NAME is a placeholder, and those in which it is
// the text of a program.
func TestVariablesArePlaceholders(t *testing.T) {
	for text, want := range map[string][]string{
		`{"jobQueueName": "q", "priority": 1, "schedulingPolicyArn": "$POLICY_ARN", "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "$CE"}]}`: {"schedulingPolicyArn", "computeEnvironment"},
		`{"jobName": "a-$RUN", "jobQueue": "$queue", "jobDefinition": "d"}`:                                                                                  {"jobName", "jobQueue"},
		`{"jobDefinitionName": "d", "type": "container", "containerProperties": {"image": "$ACCOUNT.dkr.ecr.us-east-1.amazonaws.com/a:1", "jobRoleArn": "arn:aws:iam::$ACCOUNT:role/r",
			"resourceRequirements": [{"type": "VCPU", "value": "$VCPUS"}, {"type": "MEMORY", "value": "2048"}]}}`: {"image", "jobRoleArn", "value"},
		`{"jobDefinitionName": "d", "type": "container", "parameters": {"p": "$HOME"}, "tags": {"t": "$T"}, "containerProperties": {"image": "a:1", "command": ["sh", "-c", "echo $HOME"],
			"environment": [{"name": "A", "value": "$HOME/x"}], "user": "a$$B"}}`: nil,
		`{"family": "$NAME", "containerDefinitions": [{"name": "<name>", "image": "<your image URL here>"}]}`:                                                                               nil,
		`{"computeEnvironmentName": "c", "type": "MANAGED", "computeResources": {"type": "EC2", "launchTemplate": {"launchTemplateName": "l", "version": "$Latest"}, "ec2KeyPair": "a$5"}}`: nil,
	} {
		f, problems := Load(diag.NewSource("x.json", text), Options{})
		var got []string
		for _, u := range f.Unknown {
			got = append(got, u.Name)
		}
		n := 0
		for _, p := range problems {
			if p.Rule == jsontree.RulePlaceholder && p.Severity == diag.Warning {
				n++
			}
		}
		if len(got) != len(want) || n != len(want) {
			t.Errorf("%s: %v, %v", text, got, problems)
		}
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
	}
}

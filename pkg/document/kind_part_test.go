package document

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestParts checks that the content of one member of a job definition is known as such, and that nothing else is:
// neither a job file whose author forgot the name, nor a document of another tool.
func TestParts(t *testing.T) {
	for text, want := range map[string]string{
		`{ "Image": "a:1", "ResourceRequirements": [ { "Type": "VCPU", "Value": "1" } ] }`:                                    "containerProperties",
		`{ "image": "a:1", "resource_requirements": [], "execution_role_arn": "a" }`:                                          "containerProperties",
		`{ "type": "EC2", "maxvCpus": 16, "subnets": ["subnet-1"] }`:                                                          "computeResources",
		`{ "type": "MANAGED", "maxvCpus": 16, "subnets": ["subnet-1"], "computeEnvironmentName": "a" }`:                       "",
		`{ "image": "a:1", "command": ["b"], "resourceRequirements": [] }`:                                                    "containerProperties",
		`{ "image": "a:1", "vcpus": 1, "memory": 512 }`:                                                                       "containerProperties",
		`{ "Image": "a:1", "image": "a:1", "jobRoleArn": "arn:aws:iam::123456789012:role/a" }`:                                "containerProperties",
		`{ "image": "a:1", "resourceRequirements": [], "comand": ["b"] }`:                                                     "containerProperties",
		`{ "podProperties": { "containers": [] } }`:                                                                           "eksProperties",
		`{ "taskProperties": [ { "containers": [] } ] }`:                                                                      "ecsProperties",
		`{ "numNodes": 2, "mainNode": 0, "nodeRangeProperties": [] }`:                                                         "nodeProperties",
		`{ "image": "a:1", "command": ["b"] }`:                                                                                "",
		`{ "image": "a:1", "command": ["b"], "resourceRequirements": [], "timeout": "2h" }`:                                   "",
		`{ "name": "c", "image": "a:1", "resourceRequirements": [] }`:                                                         "",
		`{ "jobDefinitionName": "c", "image": "a:1", "resourceRequirements": [] }`:                                            "",
		`{ "image": "a:1", "privileged": true, "services": {}, "stages": [], "logConfiguration": 1, "x": 1, "y": 2, "z": 3 }`: "",
		`{ "resourceRequirements": [ { "type": "VCPU", "value": "1" } ] }`:                                                    "",
		`{ "podProperties": {}, "jobName": "c", "jobQueue": "q" }`:                                                            "",
	} {
		f, _ := Load(diag.NewSource("part.json", text), Options{})
		if f == nil || f.Part != want {
			t.Errorf("%s: %+v, want the part %q", text, f, want)
		}
		if verdict := Recognize(diag.NewSource("part.json", text)); want != "" && verdict != Ours {
			t.Errorf("%s: recognized as %v", text, verdict)
		}
	}
}

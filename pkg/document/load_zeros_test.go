package document

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestZerosAreUnset checks that the zero values that some servers print for members without a value are left out.
func TestZerosAreUnset(t *testing.T) {
	for text, want := range map[string]string{
		`{"jobDefinitions": [{"jobDefinitionName": "d", "jobDefinitionArn": "a", "revision": 1, "type": "container", "retryStrategy": {"attempts": 0, "evaluateOnExit": []},
			"timeout": {"attemptDurationSeconds": 0}, "nodeProperties": {"numNodes": 0, "mainNode": 0, "nodeRangeProperties": []},
			"containerProperties": {"image": "x:1", "vcpus": 0, "memory": 0, "ephemeralStorage": {"sizeInGiB": 0},
			"linuxParameters": {"sharedMemorySize": 0, "maxSwap": 0, "swappiness": 0, "initProcessEnabled": true}}}]}`: `{"jobDefinitionName":"d","type":"container","containerProperties":{"image":"x:1","linuxParameters":{"initProcessEnabled":true}}}`,
		`{"jobDefinitions": [{"jobDefinitionName": "d", "jobDefinitionArn": "a", "revision": 1, "type": "container", "schedulingPriority": 0,
			"containerProperties": {"image": "x:1", "linuxParameters": {"maxSwap": 0}}}]}`: `{"jobDefinitionName":"d","type":"container","schedulingPriority":0,"containerProperties":{"image":"x:1","linuxParameters":{"maxSwap":0}}}`,
		`{"computeEnvironments": [{"computeEnvironmentName": "c", "computeEnvironmentArn": "a", "type": "MANAGED", "unmanagedvCpus": 0,
			"computeResources": {"type": "FARGATE", "minvCpus": 0, "maxvCpus": 16, "desiredvCpus": 0, "bidPercentage": 0}}]}`: `{"computeEnvironmentName":"c","type":"MANAGED","computeResources":{"type":"FARGATE","maxvCpus":16}}`,
		`{"computeEnvironments": [{"computeEnvironmentName": "c", "computeEnvironmentArn": "a", "type": "MANAGED",
			"computeResources": {"type": "EC2", "minvCpus": 0, "maxvCpus": 16}}]}`: `{"computeEnvironmentName":"c","type":"MANAGED","computeResources":{"type":"EC2","minvCpus":0,"maxvCpus":16}}`,
		`{"jobs": [{"jobName": "n", "jobId": "i", "jobQueue": "q", "status": "FAILED", "jobDefinition": "d", "schedulingPriority": 0, "arrayProperties": {"size": 0, "index": 0},
			"timeout": {"attemptDurationSeconds": 0}, "container": {"vcpus": 0, "memory": 0}}]}`: `{"jobName":"n","jobQueue":"q","jobDefinition":"d"}`,
	} {
		f, _ := Load(diag.NewSource("x.json", text), Options{FromDescribe: true})
		got := ""
		for _, j := range f.Jobs {
			n := j.Register
			if n == nil {
				n = j.Submit
			}
			got += string(n.AppendJSON(nil))
		}
		for _, r := range f.Requests {
			got += string(r.AppendJSON(nil))
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

package batchapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint/examples"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// TestWordsOfRules checks that each name in the table is that of a rule, with an example.
func TestWordsOfRules(t *testing.T) {
	for rule := range wordsOfRules {
		if e, ok := examples.Of(rule); !ok || len(e.Bad) == 0 {
			t.Errorf("there is no rule %s with an example", rule)
		}
	}
}

// TestWordsOfAWSBatch checks that the engine answers with the very text of AWS Batch where a public report quotes it:
// clients match on it, so it has no rule's name either.
func TestWordsOfAWSBatch(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	const fargate = `"platformCapabilities": ["FARGATE"], `
	register := func(capabilities, vcpus, memory string) string {
		return `{"jobDefinitionName": "d", "type": "container", ` + capabilities + `"containerProperties": {"image": "busybox", "executionRoleArn": "arn:aws:iam::123456789012:role/x",
			"resourceRequirements": [{"type": "VCPU", "value": "` + vcpus + `"}, {"type": "MEMORY", "value": "` + memory + `"}]}}`
	}
	task := func(vcpus string) string {
		one := func(name string) string {
			return `{"name": "` + name + `", "image": "busybox", "resourceRequirements": [{"type": "VCPU", "value": "` + vcpus + `"}, {"type": "MEMORY", "value": "1024"}]}`
		}
		return `{"jobDefinitionName": "task", "type": "container", ` + fargate + `"ecsProperties": {"taskProperties": [{"executionRoleArn": "arn:aws:iam::123456789012:role/x",
			"containers": [` + one("a") + `, ` + one("b") + `]}]}}`
	}
	override := func(name, vcpus string) string {
		return `{"jobName": "j", "jobDefinition": "task", "jobQueue": "default", "ecsPropertiesOverride": {"taskProperties": [{"containers": [
			{"name": "` + name + `", "resourceRequirements": [{"type": "VCPU", "value": "` + vcpus + `"}]}]}]}}`
	}
	submit := func(queue, overrides string) string {
		return `{"jobName": "j", "jobDefinition": "d", "jobQueue": "` + queue + `", "containerOverrides": ` + overrides + `}`
	}
	for _, c := range []struct{ operation, body, want string }{
		{"RegisterJobDefinition", register("", "1.0", "64"), "Error executing request, Exception : Value 1.0 for type VCPU in resourceRequirement is not valid. Please provide a numeric value., RequestId: "},
		{"RegisterJobDefinition", register("", "one", "64"), "Value one for type VCPU in resourceRequirement is not valid. Please provide a numeric value."},
		{"RegisterJobDefinition", register(fargate, "1", "1024"), "Error executing request, Exception : Fargate resource requirements (1.00 vCPU, 1024 MiB) not valid., RequestId: "},
		{"RegisterJobDefinition", register(fargate, "1", "2048"), ""},
		{"SubmitJob", submit("none", "{}"), "JobQueue none not found."},
		{"SubmitJob", submit("arn:aws:batch:local:000000000000:job-queue/none", "{}"), "JobQueue arn:aws:batch:local:000000000000:job-queue/none not found."},
		{"SubmitJob", submit("default", `{"command": ["a", ""]}`), "Command cannot be empty"},
		{"SubmitJob", submit("default", `{"vcpus": 1}`), "vcpus is not applicable for Fargate. Use resource requirements instead."},
		{"SubmitJob", submit("default", `{"resourceRequirements": [{"type": "MEMORY", "value": "4000"}]}`), "Fargate resource requirements (1.00 vCPU, 4000 MiB) not valid."},
		{"SubmitJob", submit("default", `{"resourceRequirements": [{"type": "VCPU", "value": "3"}]}`), "Fargate resource requirements (3.00 vCPU, 2048 MiB) not valid."},
		{"SubmitJob", submit("default", `{"resourceRequirements": [{"type": "MEMORY", "value": "4096"}]}`), ""},
		{"RegisterJobDefinition", task("0.75"), "Error executing request, Exception : Fargate resource requirements (1.50 vCPU, 2048 MiB) not valid., RequestId: "},
		{"RegisterJobDefinition", task("0.5"), ""},
		{"SubmitJob", override("b", "2.5"), "Fargate resource requirements (3.00 vCPU, 2048 MiB) not valid."},
		{"SubmitJob", override("a", "0.5"), ""},
		{"SubmitJob", `{"jobName": "a b", "jobDefinition": "d", "jobQueue": "default"}`, "Error executing request, Exception : Job name should match valid pattern, RequestId: "},
		{"DescribeComputeEnvironments", `{"computeEnvironments": ["local"], "maxResults": 1}`, "Error executing request, Exception : ComputeEnvironments and MaxResults cannot both be set, RequestId: "},
		{"DescribeJobQueues", `{"jobQueues": ["default"], "maxResults": 1}`, "Error executing request, Exception : JobQueues and MaxResults cannot both be set, RequestId: "},
		{"DescribeJobDefinitions", `{"jobDefinitions": ["d:1"], "maxResults": 1}`, "Error executing request, Exception : JobDefinitions and MaxResults cannot both be set, RequestId: "},
		{"DescribeJobDefinitions", `{"jobDefinitions": ["d:1"], "status": "ACTIVE"}`, ""},
	} {
		got := ""
		if _, _, err := w.send(c.operation, c.body); err != nil {
			got = strings.TrimPrefix(err.Error(), "ClientException: ")
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s %s:\ngot  %s\nwant %s", c.operation, c.body, got, c.want)
		}
	}
}

// TestWordsForRules checks that the bad example of a rule gets AWS Batch's own text where a report quotes it.
func TestWordsForRules(t *testing.T) {
	c := newComparison(t)
	const framed = "Error executing request, Exception : "
	for rule, want := range map[string]string{
		"ce-bid-range":                     "Bid percentage must be between 0 to 100.",
		"ce-fargate-no-allocationstrategy": "allocationStrategy is not applicable for Fargate.",
		"ce-instancetypes-one-arch":        "arm-based instance type cannot be used with other instance types.",
		"ce-spot-fleet-role":               "compute resource spotIamFleetRole is required.",
		"ecs-container-name-unique":        framed + "Container names must be unique",
		"ecs-dependson-condition":          framed + "TaskContainer dependency HEALTHY is not valid. Valid values are: [START, COMPLETE, SUCCESS]",
		"efs-accesspoint-rootdir":          framed + `When using an EFS access point, the root directory must either be set to "/" or be omitted.`,
		"fargate-no-devices":               framed + "linuxParameter.devices is not allowed for Fargate.",
		"fargate-no-multinode":             framed + "Fargate does not support MNP jobs",
		"mnp-numnodes-range":               framed + "Number of nodes must be between 1 and 1000.",
		"queue-ce-duplicate-order":         "Duplicate ComputeEnvironment order values.",
		"queue-ce-order-required":          "computeEnvironmentOrder is required.",
		"queue-name-charset":               "Job Queue name should match a valid pattern.",
		"tmpfs-size-positive":              framed + "Size of a tmpfs is invalid. The size is required and must be a positive integer.",
	} {
		e, _ := examples.Of(rule)
		var got []string
		for _, f := range e.Bad {
			if file, _ := document.Load(diag.NewSource(f.Name, f.Text), document.Options{}); file != nil && slices.Contains(comparedKinds, file.Kind) {
				_, _, err := c.engine.send(string(file.Kind), f.Text)
				text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "ClientException: "), ", RequestId: ")
				got = append(got, text)
			}
		}
		if !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}

package local

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint/examples"
)

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
				_, message := c.engine.call(string(file.Kind), f.Text)
				message, _, _ = strings.Cut(message, ", RequestId: ")
				got = append(got, message)
			}
		}
		if !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}

// TestRulesAreInTheNotice checks that the name of a broken rule is in the notice and not in the message.
func TestRulesAreInTheNotice(t *testing.T) {
	w := open(t, Options{Check: func(operation string, body []byte) error {
		return &BrokenRules{Message: "the memory is odd", Rules: []string{"memory-odd"}}
	}})
	notice := w.heard()
	_, err := w.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("d"), Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("i"), ResourceRequirements: []types.ResourceRequirement{
			{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String("64")}}}})
	refused(t, err, "the memory is odd")
	if want := "batchctl validate --rules explains: memory-odd"; *notice != want || strings.Contains(err.Error(), "memory-odd") {
		t.Errorf("notice %q, want %q; error %v", *notice, want, err)
	}
}

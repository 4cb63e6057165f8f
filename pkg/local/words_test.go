package local

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

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

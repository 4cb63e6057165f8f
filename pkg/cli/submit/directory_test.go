package submit

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/plan"
)

// TestDirectoryForAWS checks that no job for AWS names a local directory.
func TestDirectoryForAWS(t *testing.T) {
	named, other := map[string]string{"a": "b", "batchctl:directory": "/w"}, map[string]string{"a": "b"}
	for _, j := range []*plan.Job{
		{Name: "here", Submit: &batch.SubmitJobInput{Parameters: named}},
		{Name: "here", Register: &batch.RegisterJobDefinitionInput{Parameters: named}},
		{Name: "here", Register: &batch.RegisterJobDefinitionInput{Parameters: named}, Submit: &batch.SubmitJobInput{Parameters: other}},
	} {
		first := &plan.Job{Name: "first", Register: &batch.RegisterJobDefinitionInput{}, Submit: &batch.SubmitJobInput{Parameters: other}}
		s := &Sending{Plan: &plan.Plan{Jobs: []*plan.Job{first, j}}}
		if err := s.checkDirectories(); err == nil || !strings.HasPrefix(err.Error(), "job here has the parameter batchctl:directory, ") {
			t.Errorf("%+v: %v", j, err)
		}
		s.Plan.Jobs = s.Plan.Jobs[:1]
		if err := s.checkDirectories(); err != nil {
			t.Error(err)
		}
	}
}

package once

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/checkpoint"
	"github.com/batchctl/batchctl/pkg/stage"
)

// TestContinues checks that a retried job gets the id of the first job of its chain, if it has a checkpoint.
func TestContinues(t *testing.T) {
	const saved = `{"version":1,"checkpoint":{"path":"/ckpt","to":"s3://bucket/ckpt/"}}`
	for name, c := range map[string]struct{ document, origin, want string }{
		"first retry":    {saved, "", "job"},
		"second retry":   {saved, "first", "first"},
		"no checkpoint":  {`{"version":1,"inputs":[{"from":"s3://b/k","to":"x"}]}`, "", ""},
		"no staging":     {"", "", ""},
		"newer document": {`{"version":9}`, "", ""},
	} {
		job := types.JobDetail{JobId: aws.String("job"), Container: &types.ContainerDetail{}}
		for variable, value := range map[string]string{stage.Variable: c.document, checkpoint.OriginVariable: c.origin} {
			if value != "" {
				job.Container.Environment = append(job.Container.Environment, types.KeyValuePair{Name: aws.String(variable), Value: aws.String(value)})
			}
		}
		in := &awsbatch.SubmitJobInput{}
		continues(job, in)
		got := ""
		if in.ContainerOverrides != nil {
			for _, v := range in.ContainerOverrides.Environment {
				got += *v.Name + "=" + *v.Value
			}
		}
		if c.want != "" {
			c.want = checkpoint.OriginVariable + "=" + c.want
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

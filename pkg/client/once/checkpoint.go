package once

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/checkpoint"
	"github.com/batchctl/batchctl/pkg/stage"
)

// continues lets a job that replaces another one find its checkpoint. A job that is itself a retry passes on the id
// of the first job of the chain.
func continues(job types.JobDetail, in *awsbatch.SubmitJobInput) {
	text, _ := variable(job, stage.Variable)
	if d, err := stage.Parse(text); err != nil || d.Checkpoint == nil {
		return
	}
	origin, ok := variable(job, checkpoint.OriginVariable)
	if !ok {
		origin = aws.ToString(job.JobId)
	}
	setVariable(in, checkpoint.OriginVariable, origin)
}

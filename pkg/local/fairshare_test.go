package local

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// in puts a job into a share.
func in(share string, priority int32) func(*awsbatch.SubmitJobInput) {
	return func(r *awsbatch.SubmitJobInput) {
		r.JobQueue, r.ShareIdentifier, r.SchedulingPriorityOverride = aws.String("shared"), &share, &priority
		r.JobName = aws.String(fmt.Sprintf("%s-%d", share, priority))
	}
}

func (w *testEngine) fairQueue(p types.FairsharePolicy) {
	w.t.Helper()
	out, err := w.CreateSchedulingPolicy(w.t.Context(), &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("fair"), FairsharePolicy: &p})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Queue("shared", []string{model.ComputeEnvironment}, func(r *awsbatch.CreateJobQueueInput) { r.SchedulingPolicyArn = out.Arn })
}

// names returns the names of the jobs that ran, in the order of their starts.
func (w *testEngine) names(s *script) []string {
	var all []string
	for _, id := range s.ran {
		all = append(all, *w.job(id).JobName)
	}
	return all
}

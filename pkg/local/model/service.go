package model

import (
	"cmp"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Service is what only a service job has. Everything else of it is that of a job with one container, so
// that states, attempts, retries and the scheduler are the same.
type Service struct {
	Request  *awsbatch.SubmitServiceJobInput
	Training *Training
	// ScheduledAt is when the job was SCHEDULED last, in epoch milliseconds; 0: never.
	ScheduledAt int64
	// Preempting is why its attempt is asked to end for another job; "": it is not.
	Preempting string
}

// loweredService returns the members that a service job shares with other jobs, in their form. A quota
// share takes the place of a fair-share identifier.
func loweredService(in *awsbatch.SubmitServiceJobInput, training *Training) *awsbatch.SubmitJobInput {
	out := &awsbatch.SubmitJobInput{JobName: in.JobName, JobQueue: in.JobQueue, Tags: in.Tags,
		ShareIdentifier:            cmp.Or(in.ShareIdentifier, in.QuotaShareName),
		SchedulingPriorityOverride: in.SchedulingPriority}
	limit := training.maxRuntime()
	if t := in.TimeoutConfig; t != nil && t.AttemptDurationSeconds != nil {
		limit = min(limit, *t.AttemptDurationSeconds)
	}
	out.Timeout = &types.JobTimeout{AttemptDurationSeconds: &limit}
	if r := in.RetryStrategy; r != nil {
		out.RetryStrategy = &types.RetryStrategy{Attempts: r.Attempts}
		for _, rule := range r.EvaluateOnExit {
			out.RetryStrategy.EvaluateOnExit = append(out.RetryStrategy.EvaluateOnExit,
				types.EvaluateOnExit{Action: types.RetryAction(rule.Action), OnStatusReason: rule.OnStatusReason})
		}
	}
	return out
}

// trainingContainer returns the container of a training job. SageMaker runs the image with the argument
// train, or with ContainerEntrypoint and ContainerArguments (developer guide, "How Amazon SageMaker AI
// runs your training image").
func trainingContainer(v *Training) *types.ContainerProperties {
	c := &types.ContainerProperties{Image: aws.String(v.Algorithm.Image), Command: v.Algorithm.Arguments}
	if len(v.Algorithm.Entrypoint) == 0 && len(c.Command) == 0 {
		c.Command = []string{"train"}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Environment)) {
		c.Environment = append(c.Environment, types.KeyValuePair{Name: aws.String(name),
			Value: aws.String(v.Environment[name])})
	}
	return c
}

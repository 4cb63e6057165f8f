package infra

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Queue is a job queue in the form of a platform file.
type Queue struct {
	Alias        string        `json:"-"`
	JobQueue     string        `json:"jobQueue"`
	Environments []Environment `json:"computeEnvironments,omitempty"`
}

// Environment is a compute environment in the form of a platform file.
type Environment struct {
	Name          string   `json:"computeEnvironment"`
	Type          string   `json:"type"`
	InstanceTypes []string `json:"instanceTypes,omitempty"`
	MaxvCpus      int32    `json:"maxvCpus,omitempty"`
}

// Queues returns the job queues whose ARN or name is an output, in the order of
// the outputs, with their compute environments. A queue's alias is the name of
// the output in lower case, without "JobQueue", "Queue", "Arn" and "Name".
func (s *Stacks) Queues(ctx context.Context, outputs []StackOutput) ([]Queue, error) {
	all, err := s.Batch.Queues(ctx)
	if err != nil {
		return nil, err
	}
	environments, err := s.Batch.Environments(ctx)
	if err != nil {
		return nil, err
	}
	var queues []Queue
	for _, o := range outputs {
		i := slices.IndexFunc(all, func(q types.JobQueueDetail) bool { return isQueue(o, q) })
		if i < 0 || slices.ContainsFunc(queues,
			func(q Queue) bool { return q.JobQueue == aws.ToString(all[i].JobQueueName) }) {
			continue
		}
		queues = append(queues, Queue{alias(o.Name), aws.ToString(all[i].JobQueueName),
			environmentsOf(all[i], environments)})
	}
	return queues, nil
}

// isQueue reports whether an output is a queue's ARN, or its name if the output's
// name contains "Queue".
func isQueue(o StackOutput, q types.JobQueueDetail) bool {
	return o.Value == aws.ToString(q.JobQueueArn) || o.Value == aws.ToString(q.JobQueueName) &&
		strings.Contains(o.Name, "Queue")
}

// environmentsOf returns the compute environments of a queue, in its order.
func environmentsOf(q types.JobQueueDetail, all []types.ComputeEnvironmentDetail) (list []Environment) {
	order := slices.SortedFunc(slices.Values(q.ComputeEnvironmentOrder), func(a, b types.ComputeEnvironmentOrder) int {
		return int(aws.ToInt32(a.Order) - aws.ToInt32(b.Order))
	})
	for _, o := range order {
		for _, e := range all {
			if r := e.ComputeResources; aws.ToString(e.ComputeEnvironmentArn) == aws.ToString(o.ComputeEnvironment) &&
				r != nil {
				list = append(list, Environment{aws.ToString(e.ComputeEnvironmentName), string(r.Type), r.InstanceTypes,
					aws.ToInt32(r.MaxvCpus)})
			}
		}
	}
	return list
}

// alias converts "GpuSpotJobQueueArn" to "gpu-spot".
func alias(output string) string {
	name := output
	for _, end := range []string{"Arn", "Name", "Queue", "Job"} {
		if shorter := strings.TrimSuffix(name, end); shorter != "" {
			name = shorter
		}
	}
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) &&
			unicode.IsLower(runes[i+1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

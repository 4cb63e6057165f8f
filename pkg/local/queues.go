package local

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// queues returns what is known of queues now.
func (e *Engine) queues() []Queue {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.model.known)
}

func (e *Engine) createJobQueue(c *call, in *batch.CreateJobQueueInput) (*batch.CreateJobQueueOutput, error) {
	name := aws.ToString(in.JobQueueName)
	if err := cmp.Or(checkQueue(in), e.check(c)); err != nil {
		return nil, err
	}
	err := e.change(func() ([]event, error) {
		if _, ok := e.model.queue(name); ok {
			return nil, wire.ClientException("Object already exists: job queue %s.", name)
		}
		return []event{{Queued: &Queue{Name: name, Priority: *in.Priority, Environments: []string{ComputeEnvironment}}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &batch.CreateJobQueueOutput{JobQueueArn: aws.String(arn("job-queue", name)), JobQueueName: &name}, nil
}

// checkQueue refuses what Batch refuses, and what this engine cannot do: its
// one compute environment is this machine.
func checkQueue(in *batch.CreateJobQueueInput) error {
	switch {
	case !definitionName().MatchString(aws.ToString(in.JobQueueName)):
		return wire.ClientException("Job Queue name should match a valid pattern: 1 to 128 letters, digits, hyphens and underscores.")
	case in.Priority == nil || *in.Priority < 0 || *in.Priority > 1000:
		return wire.ClientException("priority is required, between 0 and 1000.")
	case len(in.ComputeEnvironmentOrder) == 0:
		return wire.ClientException("computeEnvironmentOrder needs a compute environment.")
	case in.State == types.JQStateDisabled:
		return cannot("state DISABLED")
	case in.SchedulingPolicyArn != nil:
		return cannot("schedulingPolicyArn")
	case len(in.JobStateTimeLimitActions) > 0:
		return cannot("jobStateTimeLimitActions")
	case len(in.ServiceEnvironmentOrder) > 0:
		return cannot("serviceEnvironmentOrder")
	case len(in.Tags) > 0:
		return cannot("tags of a job queue")
	}
	for _, o := range in.ComputeEnvironmentOrder {
		if resourceName(aws.ToString(o.ComputeEnvironment), "compute-environment") != ComputeEnvironment {
			return wire.ClientException("Compute environment %s does not exist; this engine has one, %s.",
				aws.ToString(o.ComputeEnvironment), ComputeEnvironment)
		}
	}
	return nil
}

func (e *Engine) describeJobQueues(_ *call, in *batch.DescribeJobQueuesInput) (*batch.DescribeJobQueuesOutput, error) {
	page, next, err := pageOf(named(e.queues(), in.JobQueues, "job-queue", Queue.name), in.MaxResults, 100, in.NextToken, Queue.name)
	if err != nil {
		return nil, err
	}
	out := &batch.DescribeJobQueuesOutput{NextToken: next, JobQueues: []types.JobQueueDetail{}}
	for _, q := range page {
		out.JobQueues = append(out.JobQueues, q.describe())
	}
	return out, nil
}

func (q Queue) name() string { return q.Name }

func (q Queue) describe() types.JobQueueDetail {
	d := types.JobQueueDetail{
		JobQueueName: &q.Name,
		JobQueueArn:  aws.String(arn("job-queue", q.Name)),
		Priority:     &q.Priority,
		State:        types.JQStateEnabled,
		Status:       types.JQStatusValid,
		StatusReason: aws.String("JobQueue Healthy"),
		JobQueueType: types.JobQueueTypeEcs,
	}
	for i, name := range q.Environments {
		d.ComputeEnvironmentOrder = append(d.ComputeEnvironmentOrder, types.ComputeEnvironmentOrder{
			Order: aws.Int32(int32(i + 1)), ComputeEnvironment: aws.String(arn("compute-environment", name))})
	}
	return d
}

func (e *Engine) describeComputeEnvironments(_ *call, in *batch.DescribeComputeEnvironmentsInput) (*batch.DescribeComputeEnvironmentsOutput, error) {
	var names []string
	for _, q := range e.queues() {
		names = append(names, q.Environments...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	self := func(name string) string { return name }
	page, next, err := pageOf(named(names, in.ComputeEnvironments, "compute-environment", self), in.MaxResults, 100, in.NextToken, self)
	if err != nil {
		return nil, err
	}
	out := &batch.DescribeComputeEnvironmentsOutput{NextToken: next, ComputeEnvironments: []types.ComputeEnvironmentDetail{}}
	for _, name := range page {
		out.ComputeEnvironments = append(out.ComputeEnvironments, e.environmentDetail(name))
	}
	return out, nil
}

// environmentDetail is a compute environment that somebody else manages: this
// machine, under one of its names.
func (e *Engine) environmentDetail(name string) types.ComputeEnvironmentDetail {
	return types.ComputeEnvironmentDetail{
		ComputeEnvironmentName:     &name,
		ComputeEnvironmentArn:      aws.String(arn("compute-environment", name)),
		ContainerOrchestrationType: types.OrchestrationTypeEcs,
		Type:                       types.CETypeUnmanaged,
		State:                      types.CEStateEnabled,
		Status:                     types.CEStatusValid,
		StatusReason:               aws.String("ComputeEnvironment Healthy"),
		UnmanagedvCpus:             aws.Int32(int32(e.options.VCPUs)),
	}
}

// named returns the elements that are asked for by name or ARN; nothing asked
// for: all of them.
func named[T any](all []T, asked []string, kind string, name func(T) string) []T {
	if len(asked) == 0 {
		return all
	}
	var out []T
	for _, v := range all {
		if slices.ContainsFunc(asked, func(text string) bool { return resourceName(text, kind) == name(v) }) {
			out = append(out, v)
		}
	}
	return out
}

package local

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

func (a *API) createJobQueue(c *call, in *awsbatch.CreateJobQueueInput) (*awsbatch.CreateJobQueueOutput, error) {
	name := aws.ToString(in.JobQueueName)
	if err := a.judge(c, checkQueue(in), checkTags(in.Tags), a.check(c)); err != nil {
		return nil, err
	}
	err := a.backend.Change(func(m *model) ([]event, error) {
		if _, ok := m.queue(name); ok {
			return nil, a.judge(c, already("Job queue", name))
		}
		err := a.judge(c, m.checkOrder(in.ComputeEnvironmentOrder), m.checkPolicyARN(in.SchedulingPolicyArn))
		return []event{{QueueCreated: &shape[awsbatch.CreateJobQueueInput]{V: in}}}, err
	})
	if err != nil {
		return nil, err
	}
	return &awsbatch.CreateJobQueueOutput{JobQueueArn: aws.String(arn(kindQueue, name)), JobQueueName: &name}, nil
}

// checkQueue refuses what can be seen from the request alone.
func checkQueue(in *awsbatch.CreateJobQueueInput) error {
	switch {
	case !definitionName().MatchString(aws.ToString(in.JobQueueName)):
		return wire.ClientException("Job Queue name should match a valid pattern: 1 to 128 letters, digits, hyphens and underscores.")
	case in.Priority == nil:
		return wire.ClientException("priority is required, between 0 and 1000.")
	case len(in.ServiceEnvironmentOrder) > 0:
		return cannot("serviceEnvironmentOrder")
	case in.JobQueueType == types.JobQueueTypeEks || in.JobQueueType == types.JobQueueTypeSagemakerTraining:
		return cannot("jobQueueType " + string(in.JobQueueType))
	}
	if err := checkQueueState(in.State); err != nil {
		return err
	}
	if len(in.ComputeEnvironmentOrder) == 0 {
		return wire.ClientException("At least 1 compute environment must be provided")
	}
	return gravest(checkPriority(in.Priority), checkLimits(in.JobStateTimeLimitActions))
}

func checkPriority(p *int32) error {
	if p != nil && (*p < 0 || *p > 1000) {
		return faulty("priority is required, between 0 and 1000.")
	}
	return nil
}

func checkQueueState(s types.JQState) error {
	if s != "" && !slices.Contains(s.Values(), s) {
		return badState(string(s))
	}
	return nil
}

// checkOrder refuses an order of environments that Batch refuses.
func (m *model) checkOrder(order []types.ComputeEnvironmentOrder) error {
	var refused error
	names, places := map[string]bool{}, map[int32]bool{}
	platforms := map[types.PlatformCapability]bool{}
	for _, o := range order {
		name := resourceName(aws.ToString(o.ComputeEnvironment), kindEnvironment)
		v := m.environments[name]
		switch {
		case o.Order == nil || name == "":
			return wire.ClientException("An entry of computeEnvironmentOrder needs order and computeEnvironment.")
		case names[name]:
			return wire.ClientException("Duplicate ComputeEnvironments within order list.")
		case v == nil && name != ComputeEnvironment:
			return unlikeMoto(wire.ClientException("Compute environment %s does not exist. Compute Environments must be created and valid "+
				"before attaching them to a job queue", name), wire.ClientException("computeEnvironmentOrder is malformed"))
		case places[*o.Order]:
			refused = faulty("Duplicate ComputeEnvironment order values.")
		}
		names[name], places[*o.Order] = true, true
		if v != nil && v.request != nil {
			platforms[v.platform()] = true
		}
	}
	if len(order) > 3 {
		refused = gravest(refused, faulty("Only 3 environments are allowed in job queue request."))
	}
	if len(platforms) > 1 {
		refused = gravest(refused, faulty("Fargate and EC2 compute environments can not be mixed."))
	}
	return refused
}

func (a *API) updateJobQueue(c *call, in *awsbatch.UpdateJobQueueInput) (*awsbatch.UpdateJobQueueOutput, error) {
	name := resourceName(aws.ToString(in.JobQueue), kindQueue)
	if len(in.ServiceEnvironmentOrder) > 0 {
		return nil, cannot("serviceEnvironmentOrder")
	}
	if err := a.judge(c, checkQueueState(in.State), checkPriority(in.Priority), checkLimits(in.JobStateTimeLimitActions), a.check(c)); err != nil {
		return nil, err
	}
	err := a.backend.Change(func(m *model) ([]event, error) {
		q, ok := m.queue(name)
		switch {
		case !ok:
			return nil, missing("Job Queue", in.JobQueue)
		case q.configured:
			return nil, configured("Job Queue", name)
		case in.ComputeEnvironmentOrder != nil && len(in.ComputeEnvironmentOrder) == 0:
			return nil, wire.ClientException("At least 1 compute environment must be provided")
		}
		err := a.judge(c, checkPolicyChange(q, in), m.checkOrder(in.ComputeEnvironmentOrder), m.checkPolicyARN(in.SchedulingPolicyArn))
		in.JobQueue = &name
		return []event{{QueueUpdated: &shape[awsbatch.UpdateJobQueueInput]{V: in}}}, err
	})
	if err != nil {
		return nil, err
	}
	return &awsbatch.UpdateJobQueueOutput{JobQueueArn: aws.String(arn(kindQueue, name)), JobQueueName: &name}, nil
}

func checkPolicyChange(q *queue, in *awsbatch.UpdateJobQueueInput) error {
	if in.SchedulingPolicyArn != nil && q.policy == "" {
		return faulty("A scheduling policy cannot be added to a job queue that was created without one.")
	}
	return nil
}

// deleteJobQueue terminates the jobs of the queue, as Batch does.
func (a *API) deleteJobQueue(c *call, in *awsbatch.DeleteJobQueueInput) (*awsbatch.DeleteJobQueueOutput, error) {
	name := resourceName(aws.ToString(in.JobQueue), kindQueue)
	return &awsbatch.DeleteJobQueueOutput{}, a.backend.Change(func(m *model) ([]event, error) {
		q, ok := m.queue(name)
		switch {
		case !ok:
			return nil, a.judge(c, gone("Job Queue", in.JobQueue))
		case q.configured:
			return nil, configured("Job Queue", name)
		case !q.disabled:
			if err := a.judge(c, faulty("Cannot delete, job queue %s must be DISABLED first.", name)); err != nil {
				return nil, err
			}
		}
		var events []event
		if l := m.queues[name]; l != nil {
			for s := submitted; s <= running; s++ {
				for _, t := range l.jobs[s] {
					events = append(events, event{Stopped: &stop{Job: t.id(), Terminate: true, Reason: "Job Queue " + name + " was deleted"}})
				}
			}
		}
		return append(events, event{Deleted: &deletion{resourceOf(kindQueue, name)}}), nil
	})
}

func (a *API) describeJobQueues(_ *call, in *awsbatch.DescribeJobQueuesInput) (*awsbatch.DescribeJobQueuesOutput, error) {
	m, done := a.backend.View()
	defer done()
	all := slices.SortedFunc(slices.Values(m.known), func(a, b *queue) int { return strings.Compare(a.Name, b.Name) })
	name := func(q *queue) string { return q.Name }
	page, next, err := pageOf(named(all, in.JobQueues, kindQueue, name), in.MaxResults, 100, in.NextToken, name)
	if err != nil {
		return nil, err
	}
	out := &awsbatch.DescribeJobQueuesOutput{NextToken: next, JobQueues: []types.JobQueueDetail{}}
	for _, q := range page {
		out.JobQueues = append(out.JobQueues, m.describeQueue(q))
	}
	return out, nil
}

func (m *model) describeQueue(q *queue) types.JobQueueDetail {
	r := resourceOf(kindQueue, q.Name)
	d := types.JobQueueDetail{
		JobQueueName:             aws.String(q.Name),
		JobQueueArn:              aws.String(r.arn()),
		Priority:                 aws.Int32(q.Priority),
		State:                    types.JQStateEnabled,
		Status:                   types.JQStatusValid,
		StatusReason:             aws.String("JobQueue Healthy"),
		JobQueueType:             types.JobQueueTypeEcs,
		JobStateTimeLimitActions: q.limits,
		Tags:                     merged(nil, m.tags[r]),
	}
	if q.disabled {
		d.State = types.JQStateDisabled
	}
	if m.policies[q.policy] != nil {
		d.SchedulingPolicyArn = aws.String(arn(kindPolicy, q.policy))
	} else if q.policy != "" {
		d.SchedulingPolicyArn = aws.String(q.policy) // a lenient engine took it as it was
	}
	for i, name := range q.Environments {
		order := int32(i + 1)
		if len(q.order) > 0 {
			order = q.order[i]
		}
		d.ComputeEnvironmentOrder = append(d.ComputeEnvironmentOrder, types.ComputeEnvironmentOrder{
			Order: &order, ComputeEnvironment: aws.String(arn(kindEnvironment, name))})
		if v := m.environments[name]; v != nil && v.platform() == types.PlatformCapabilityFargate {
			d.JobQueueType = types.JobQueueTypeEcsFargate
		}
	}
	return d
}

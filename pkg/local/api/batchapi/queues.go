package batchapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/api/empty"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// queues has the operations on job queues.
type queues struct{ *service }

// createJobQueue records a queue, ENABLED by default. Its environments and its policy must exist.
// A name that exists is an error.
func (qs queues) createJobQueue(c *call.Call,
	in *awsbatch.CreateJobQueueInput) (*awsbatch.CreateJobQueueOutput, error) {
	name := aws.ToString(in.JobQueueName)
	if err := cmp.Or(checkQueue(in), checkTags(in.Tags), qs.check(c)); err != nil {
		return nil, err
	}
	err := qs.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if _, ok := m.Queue(name); ok {
			return nil, already("Job queue", name)
		}
		err := cmp.Or(checkOrder(m, in.ComputeEnvironmentOrder), checkQueueType(m, in),
			checkPolicyARN(m, in.SchedulingPolicyArn), checkService(m, in.ServiceEnvironmentOrder,
				in.SchedulingPolicyArn))
		return []model.Event{{QueueCreated: &model.Shape[*awsbatch.CreateJobQueueInput]{V: in}}}, err
	})
	if err != nil {
		return nil, err
	}
	return &awsbatch.CreateJobQueueOutput{JobQueueArn: aws.String(model.ARN(model.KindQueue, name)),
		JobQueueName: &name}, nil
}

// checkQueue checks what the request alone shows.
func checkQueue(in *awsbatch.CreateJobQueueInput) error {
	switch {
	case !definitionName().MatchString(aws.ToString(in.JobQueueName)):
		return wire.ClientException("Job Queue name should match a valid pattern.")
	case in.Priority == nil:
		return wire.ClientException("priority is required, between 0 and 1000.")
	}
	if err := checkQueueState(in.State); err != nil {
		return err
	}
	service := len(in.ServiceEnvironmentOrder) > 0
	switch training := in.JobQueueType == types.JobQueueTypeSagemakerTraining; {
	case service && len(in.ComputeEnvironmentOrder) > 0:
		return wire.ClientException("A job queue cannot have both serviceEnvironmentOrder and computeEnvironmentOrder.")
	case training && !service:
		return wire.ClientException(empty.NoServiceEnvironment)
	case service && !training:
		return wire.ClientException("Only job queues of type SAGEMAKER_TRAINING can have serviceEnvironmentOrder.")
	case !service && len(in.ComputeEnvironmentOrder) == 0:
		return wire.ClientException("computeEnvironmentOrder is required.")
	}
	return cmp.Or(checkPriority(in.Priority), checkLimits(in.JobStateTimeLimitActions, service))
}

// checkService rejects a service environment that Batch rejects, and one that does not fit the
// scheduling policy. Quota shares are only for service jobs.
func checkService(m *model.Model, order []types.ServiceEnvironmentOrder, policy *string) error {
	p := m.Policies[model.ResourceName(aws.ToString(policy), model.KindPolicy)]
	quota := p != nil && p.Quota != nil
	if len(order) == 0 {
		if quota {
			return wire.ClientException("Quota Management feature is only supported for SageMaker Training job queues.")
		}
		return nil
	}
	name := model.ResourceName(aws.ToString(order[0].ServiceEnvironment), model.KindServiceEnvironment)
	v := m.ServiceEnvironments[name]
	switch {
	case order[0].Order == nil || name == "":
		return wire.ClientException("An entry of serviceEnvironmentOrder needs order and serviceEnvironment.")
	case len(order) > 1:
		return wire.ClientException("Job queue can only have 1 service environment.")
	case v == nil:
		return wire.ClientException("Service environment %s does not exist. Service environments must be created and valid before attaching them to a job queue.", name)
	}
	return checkUnitsFor(quota, name, v.Service.CapacityLimits)
}

// checkPriority rejects a priority outside 0 to 1000; an update may leave it out.
func checkPriority(p *int32) error {
	if p != nil && (*p < 0 || *p > 1000) {
		return wire.ClientException("priority is required, between 0 and 1000.")
	}
	return nil
}

// checkQueueState rejects an unknown state; an empty one means the default or no change.
func checkQueueState(s types.JQState) error {
	if s != "" && !slices.Contains(s.Values(), s) {
		return badState(string(s))
	}
	return nil
}

// checkQueueType rejects a queue of type EKS with other environments, and the reverse (rule queue-mix-eks-ecs). The
// local machine may be in any queue.
func checkQueueType(m *model.Model, in *awsbatch.CreateJobQueueInput) error {
	for _, o := range in.ComputeEnvironmentOrder {
		v := m.Environments[model.ResourceName(aws.ToString(o.ComputeEnvironment), model.KindEnvironment)]
		switch eks := in.JobQueueType == types.JobQueueTypeEks; {
		case in.JobQueueType == "" || v == nil || v.Platform() == "" || eks == (v.Platform() == model.PlatformEKS):
		case eks:
			return wire.ClientException("EKS job queue type must have EKS compute environment.")
		default:
			return wire.ClientException("%s job queue type must not have EKS compute environment.", in.JobQueueType)
		}
	}
	return nil
}

// checkOrder rejects an order of environments that Batch rejects: unknown or repeated ones, more
// than three, EC2 mixed with Fargate or EKS, or two architectures (rules queue-mix-*). The local machine looks like EC2
// to clients, so it counts as EC2.
func checkOrder(m *model.Model, order []types.ComputeEnvironmentOrder) error {
	names, numbers := map[string]bool{}, map[int32]bool{}
	platforms := map[types.PlatformCapability]bool{}
	for _, o := range order {
		name := model.ResourceName(aws.ToString(o.ComputeEnvironment), model.KindEnvironment)
		v := m.Environments[name]
		switch {
		case o.Order == nil || name == "":
			return wire.ClientException("An entry of computeEnvironmentOrder needs order and computeEnvironment.")
		case names[name]:
			return wire.ClientException("Duplicate ComputeEnvironments within order list.")
		case v == nil && name != model.ComputeEnvironment:
			return wire.ClientException("Compute environment %s does not exist. Compute Environments must be created and valid "+
				"before attaching them to a job queue", name)
		case numbers[*o.Order]:
			return wire.ClientException("Duplicate ComputeEnvironment order values.")
		}
		names[name], numbers[*o.Order] = true, true
		platform := types.PlatformCapabilityEc2
		if v != nil && v.Request != nil {
			platform = v.Platform()
		}
		platforms[platform] = true
	}
	if len(order) > 3 {
		return wire.ClientException("Only 3 environments are allowed in job queue request.")
	}
	switch {
	case len(platforms) > 1 && platforms[model.PlatformEKS]:
		return wire.ClientException("EKS and ECS compute environments can not be mixed.")
	case len(platforms) > 1:
		return wire.ClientException("Fargate and EC2 compute environments can not be mixed.")
	}
	return checkArchitectures(m, order)
}

// checkArchitectures rejects environments with instances of different architectures. AWS's words for it are not public.
func checkArchitectures(m *model.Model, order []types.ComputeEnvironmentOrder) error {
	var known *catalog.Catalog // the embedded one
	first, arch := "", ""
	for _, o := range order {
		name := model.ResourceName(aws.ToString(o.ComputeEnvironment), model.KindEnvironment)
		v := m.Environments[name]
		if len(order) == 1 || v == nil || v.Request == nil || v.Request.ComputeResources == nil {
			continue
		}
		switch other := known.ArchOf(v.Request.ComputeResources.InstanceTypes); {
		case other == "":
		case arch == "":
			first, arch = name, other
		case other != arch:
			return wire.ClientException("All compute environments of a job queue must have the same architecture: %s is %s, and %s is %s.", first, arch, name, other)
		}
	}
	return nil
}

// updateJobQueue changes the members that the request has. Queues from the engine's options
// cannot be changed.
func (qs queues) updateJobQueue(c *call.Call,
	in *awsbatch.UpdateJobQueueInput) (*awsbatch.UpdateJobQueueOutput, error) {
	name := model.ResourceName(aws.ToString(in.JobQueue), model.KindQueue)
	if err := cmp.Or(checkQueueState(in.State), checkPriority(in.Priority), qs.check(c)); err != nil {
		return nil, err
	}
	err := qs.backend.Change(func(m *model.Model) ([]model.Event, error) {
		q, ok := m.Queue(name)
		switch {
		case !ok:
			return nil, missing("Job Queue", in.JobQueue)
		case q.Configured:
			return nil, configured("Job Queue", name)
		case in.ComputeEnvironmentOrder != nil && len(in.ComputeEnvironmentOrder) == 0:
			return nil, wire.ClientException("At least 1 compute environment must be provided")
		case in.ServiceEnvironmentOrder != nil && len(in.ServiceEnvironmentOrder) == 0:
			return nil, wire.ClientException(empty.NoServiceEnvironment)
		case q.Service != "" && len(in.ComputeEnvironmentOrder) > 0 || q.Service == "" &&
			len(in.ServiceEnvironmentOrder) > 0:
			return nil, wire.ClientException("A job queue cannot change between computeEnvironmentOrder and serviceEnvironmentOrder.")
		}
		err := cmp.Or(checkPolicyChange(m, q, in), checkOrder(m, in.ComputeEnvironmentOrder),
			checkPolicyARN(m, in.SchedulingPolicyArn), checkServiceChange(m, q, in),
			checkLimits(in.JobStateTimeLimitActions, q.Service != ""))
		in.JobQueue = &name // the request may have an ARN; the model uses names
		return []model.Event{{QueueUpdated: &model.Shape[*awsbatch.UpdateJobQueueInput]{V: in}}}, err
	})
	if err != nil {
		return nil, err
	}
	return &awsbatch.UpdateJobQueueOutput{JobQueueArn: aws.String(model.ARN(model.KindQueue, name)),
		JobQueueName: &name}, nil
}

// checkPolicyChange rejects a policy for a queue that was created without one. Batch allows only
// replacing it, here by one of the same kind.
func checkPolicyChange(m *model.Model, q *model.Queue, in *awsbatch.UpdateJobQueueInput) error {
	if in.SchedulingPolicyArn == nil {
		return nil
	}
	now, before := m.Policies[model.ResourceName(*in.SchedulingPolicyArn, model.KindPolicy)], m.Policies[q.Policy]
	switch {
	case q.Policy == "":
		return wire.ClientException("A scheduling policy cannot be added to a job queue that was created without one.")
	case now != nil && before != nil && (now.Quota != nil) != (before.Quota != nil):
		return wire.ClientException("A scheduling policy cannot be replaced by one of another type.")
	}
	return nil
}

// checkServiceChange checks the service environment and the policy that a queue will have.
func checkServiceChange(m *model.Model, q *model.Queue, in *awsbatch.UpdateJobQueueInput) error {
	if len(in.ServiceEnvironmentOrder) == 0 {
		return nil
	}
	policy := &q.Policy
	if in.SchedulingPolicyArn != nil {
		policy = in.SchedulingPolicyArn
	}
	return checkService(m, in.ServiceEnvironmentOrder, policy)
}

// deleteJobQueue removes a disabled queue and terminates its jobs, as Batch does.
func (qs queues) deleteJobQueue(c *call.Call,
	in *awsbatch.DeleteJobQueueInput) (*awsbatch.DeleteJobQueueOutput, error) {
	name := model.ResourceName(aws.ToString(in.JobQueue), model.KindQueue)
	return &awsbatch.DeleteJobQueueOutput{}, qs.backend.Change(func(m *model.Model) ([]model.Event, error) {
		q, ok := m.Queue(name)
		switch {
		case !ok:
			return nil, missing("Job Queue", in.JobQueue)
		case q.Configured:
			return nil, configured("Job Queue", name)
		case !q.Disabled:
			if err := wire.ClientException("Cannot delete, job queue %s must be DISABLED first.", name); err != nil {
				return nil, err
			}
		}
		// The jobs end first: their events come before the queue's.
		var events []model.Event
		if l := m.Lines[name]; l != nil {
			for s := model.Submitted; s <= model.Running; s++ {
				for _, t := range l.Jobs[s] {
					events = append(events, model.Event{Stopped: &model.Stop{Job: t.ID(), Terminate: true,
						Reason: "Job Queue " + name + " was deleted"}})
				}
			}
		}
		return append(events, model.Event{Deleted: &model.Deletion{Resource: model.ResourceOf(model.KindQueue, name)}}),
			nil
	})
}

// describeJobQueues returns all queues or the requested ones, by name. Like Batch, it leaves out
// unknown names.
func (qs queues) describeJobQueues(c *call.Call,
	in *awsbatch.DescribeJobQueuesInput) (*awsbatch.DescribeJobQueuesOutput, error) {
	if err := checkNamed("JobQueues", in.JobQueues, in.MaxResults); err != nil {
		return nil, err
	}
	m, done := qs.backend.View()
	defer done()
	all := slices.SortedFunc(slices.Values(m.Queues),
		func(a, b *model.Queue) int { return strings.Compare(a.Name, b.Name) })
	name := func(q *model.Queue) string { return q.Name }
	page, next, err := call.Page(named(all, in.JobQueues, model.KindQueue, name), in.MaxResults, 100, in.NextToken,
		name)
	if err != nil {
		return nil, err
	}
	out := &awsbatch.DescribeJobQueuesOutput{NextToken: next, JobQueues: []types.JobQueueDetail{}}
	for _, q := range page {
		out.JobQueues = append(out.JobQueues, describeQueue(m, q))
	}
	return out, nil
}

// describeQueue returns a queue as DescribeJobQueues shows it. Every queue is VALID: the engine
// creates and changes queues at once.
func describeQueue(m *model.Model, q *model.Queue) types.JobQueueDetail {
	r := model.ResourceOf(model.KindQueue, q.Name)
	d := types.JobQueueDetail{
		JobQueueName:             aws.String(q.Name),
		JobQueueArn:              aws.String(r.ARN()),
		Priority:                 aws.Int32(q.Priority),
		State:                    types.JQStateEnabled,
		Status:                   types.JQStatusValid,
		StatusReason:             aws.String("JobQueue Healthy"),
		JobQueueType:             types.JobQueueTypeEcs,
		JobStateTimeLimitActions: q.TimeLimits,
		Tags:                     model.Merged(nil, m.Tags[r]),
	}
	if q.Disabled {
		d.State = types.JQStateDisabled
	}
	if m.Policies[q.Policy] != nil {
		d.SchedulingPolicyArn = aws.String(model.ARN(model.KindPolicy, q.Policy))
	}
	if q.Service != "" {
		d.JobQueueType, d.ComputeEnvironmentOrder = types.JobQueueTypeSagemakerTraining,
			[]types.ComputeEnvironmentOrder{}
		d.ServiceEnvironmentOrder = []types.ServiceEnvironmentOrder{{Order: aws.Int32(q.ServiceOrder),
			ServiceEnvironment: aws.String(model.ARN(model.KindServiceEnvironment, q.Service))}}
	}
	for i, name := range q.Environments {
		order := int32(i + 1)
		if len(q.Order) > 0 {
			order = q.Order[i]
		}
		d.ComputeEnvironmentOrder = append(d.ComputeEnvironmentOrder, types.ComputeEnvironmentOrder{
			Order: &order, ComputeEnvironment: aws.String(model.ARN(model.KindEnvironment, name))})
		if v := m.Environments[name]; v != nil { // checkOrder rejects mixed platforms
			switch v.Platform() {
			case types.PlatformCapabilityFargate:
				d.JobQueueType = types.JobQueueTypeEcsFargate
			case model.PlatformEKS:
				d.JobQueueType = types.JobQueueTypeEks
			}
		}
	}
	return d
}

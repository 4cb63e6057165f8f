package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// QueueSpec is a job queue. Its compute environments are only names: all of them mean the local
// machine.
type QueueSpec struct {
	Name         string   `json:"name"`
	Priority     int32    `json:"priority"` // higher goes first
	Environments []string `json:"environments"`
}

// Queue is a job queue in the model.
type Queue struct {
	QueueSpec
	// Order has the numbers of the environments in the request; empty means 1, 2, 3.
	Order      []int32
	Configured bool // by the options
	Disabled   bool
	// Policy is the name of its scheduling policy; empty means first in, first out.
	Policy     string
	TimeLimits []types.JobStateTimeLimitAction
	// Service is the name of the service environment of a queue for service jobs; "" for other queues.
	Service string
	// ServiceOrder is the number of the service environment in the request.
	ServiceOrder int32
}

// QueueTable has the job queues.
type QueueTable struct {
	// Queues are the queues of the options, then those of CreateJobQueue.
	Queues []*Queue
}

// Queue returns the queue with that name; ok is false if it does not exist.
func (s *QueueTable) Queue(name string) (*Queue, bool) {
	at := slices.IndexFunc(s.Queues, func(q *Queue) bool { return q.Name == name })
	if at < 0 {
		return nil, false
	}
	return s.Queues[at], true
}

// newQueue returns the queue of a request; nil if the options now configure one of this name.
func (s *QueueTable) newQueue(in *awsbatch.CreateJobQueueInput) (*Queue, error) {
	name := aws.ToString(in.JobQueueName)
	if q, ok := s.Queue(name); ok && q.Configured {
		return nil, nil
	} else if ok || name == "" {
		return nil, fmt.Errorf("create job queue %q: it exists, or has no name", name)
	}
	q := &Queue{
		QueueSpec:  QueueSpec{Name: name, Priority: aws.ToInt32(in.Priority)},
		Disabled:   in.State == types.JQStateDisabled,
		Policy:     ResourceName(aws.ToString(in.SchedulingPolicyArn), KindPolicy),
		TimeLimits: in.JobStateTimeLimitActions,
	}
	q.setService(in.ServiceEnvironmentOrder)
	q.setEnvironments(in.ComputeEnvironmentOrder)
	return q, nil
}

// updateQueue applies the members of an update, unless the options now configure the queue.
func (s *QueueTable) updateQueue(in *awsbatch.UpdateJobQueueInput) error {
	q, ok := s.Queue(aws.ToString(in.JobQueue))
	switch {
	case !ok:
		return fmt.Errorf("update job queue %q: no such queue", aws.ToString(in.JobQueue))
	case q.Configured:
		return nil
	}
	if in.Priority != nil {
		q.Priority = *in.Priority
	}
	if in.State != "" {
		q.Disabled = in.State == types.JQStateDisabled
	}
	if in.ComputeEnvironmentOrder != nil {
		q.setEnvironments(in.ComputeEnvironmentOrder)
	}
	q.setService(in.ServiceEnvironmentOrder)
	if in.SchedulingPolicyArn != nil {
		q.Policy = ResourceName(*in.SchedulingPolicyArn, KindPolicy)
	}
	if in.JobStateTimeLimitActions != nil {
		q.TimeLimits = in.JobStateTimeLimitActions
	}
	return nil
}

// deleteQueue removes a queue, unless the options now configure it.
func (s *QueueTable) deleteQueue(name string) {
	s.Queues = slices.DeleteFunc(s.Queues, func(q *Queue) bool { return q.Name == name && !q.Configured })
}

// setService gives the queue its service environment, if there is one. A queue has at most one.
func (q *Queue) setService(order []types.ServiceEnvironmentOrder) {
	for _, o := range order {
		q.Service, q.ServiceOrder = ResourceName(aws.ToString(o.ServiceEnvironment), KindServiceEnvironment),
			aws.ToInt32(o.Order)
	}
}

// setEnvironments gives the queue its environments.
func (q *Queue) setEnvironments(order []types.ComputeEnvironmentOrder) {
	order = slices.SortedStableFunc(slices.Values(order), func(a, b types.ComputeEnvironmentOrder) int {
		return cmp.Compare(aws.ToInt32(a.Order), aws.ToInt32(b.Order))
	})
	q.Environments, q.Order = nil, nil
	for _, o := range order {
		q.Environments = append(q.Environments, ResourceName(aws.ToString(o.ComputeEnvironment), KindEnvironment))
		q.Order = append(q.Order, aws.ToInt32(o.Order))
	}
}

package local

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// ComputeEnvironment is the name of the compute environment that every engine
// has: this machine.
const ComputeEnvironment = "local"

// Queue is a job queue. Its compute environments are names only: all of them
// stand for this machine.
type Queue struct {
	Name         string   `json:"name"`
	Priority     int32    `json:"priority"` // higher goes first
	Environments []string `json:"environments"`
}

// queue is a job queue as the model knows it.
type queue struct {
	Queue
	order      []int32 // of the environments, as the request numbered them; none: 1, 2, 3
	configured bool    // by the options
	disabled   bool
	policy     string // name of its scheduling policy; empty: first in, first out
	limits     []types.JobStateTimeLimitAction
}

// queue returns the queue of that name.
func (m *model) queue(name string) (*queue, bool) {
	at := slices.IndexFunc(m.known, func(q *queue) bool { return q.Name == name })
	if at < 0 {
		return nil, false
	}
	return m.known[at], true
}

// queued adds a queue of an older engine, whose environments were names only. One
// that the options configure by now counts as they say.
func (m *model) queued(q *Queue) {
	if _, ok := m.queue(q.Name); !ok {
		m.addQueue(&queue{Queue: *q})
	}
}

func (m *model) addQueue(q *queue) {
	for _, name := range q.Environments {
		m.machineEnvironment(name)
	}
	m.known = append(m.known, q)
}

func (m *model) createQueue(in *awsbatch.CreateJobQueueInput) error {
	name := aws.ToString(in.JobQueueName)
	if q, ok := m.queue(name); ok && q.configured {
		return nil
	} else if ok || name == "" {
		return fmt.Errorf("create job queue %q: it exists, or has no name", name)
	}
	q := &queue{
		Queue:    Queue{Name: name, Priority: aws.ToInt32(in.Priority)},
		disabled: in.State == types.JQStateDisabled,
		policy:   resourceName(aws.ToString(in.SchedulingPolicyArn), kindPolicy),
		limits:   in.JobStateTimeLimitActions,
	}
	q.place(in.ComputeEnvironmentOrder)
	m.addQueue(q)
	m.tag(resourceOf(kindQueue, name), in.Tags)
	return nil
}

func (m *model) updateQueue(in *awsbatch.UpdateJobQueueInput) error {
	q, ok := m.queue(aws.ToString(in.JobQueue))
	switch {
	case !ok:
		return fmt.Errorf("update job queue %q: no such queue", aws.ToString(in.JobQueue))
	case q.configured:
		return nil
	}
	if in.Priority != nil {
		q.Priority = *in.Priority
	}
	if in.State != "" {
		q.disabled = in.State == types.JQStateDisabled
	}
	if in.ComputeEnvironmentOrder != nil {
		q.place(in.ComputeEnvironmentOrder)
		for _, name := range q.Environments {
			m.machineEnvironment(name)
		}
	}
	if in.SchedulingPolicyArn != nil {
		q.policy = resourceName(*in.SchedulingPolicyArn, kindPolicy)
	}
	if in.JobStateTimeLimitActions != nil {
		q.limits = in.JobStateTimeLimitActions
	}
	m.reconsider(func(v *queue) bool { return v == q })
	return nil
}

// reconsider puts on the list the jobs that wait in some queues: what keeps them
// waiting may have changed.
func (m *model) reconsider(which func(*queue) bool) {
	for _, q := range m.known {
		l := m.queues[q.Name]
		if l == nil || !which(q) {
			continue
		}
		for t := range l.runnable() {
			m.due = append(m.due, t)
		}
		m.due = append(m.due, l.jobs[pending]...) // parents of arrays say it too
	}
}

// place gives the queue its environments.
func (q *queue) place(order []types.ComputeEnvironmentOrder) {
	order = slices.SortedStableFunc(slices.Values(order), func(a, b types.ComputeEnvironmentOrder) int {
		return cmp.Compare(aws.ToInt32(a.Order), aws.ToInt32(b.Order))
	})
	q.Environments, q.order = nil, nil
	for _, o := range order {
		q.Environments = append(q.Environments, resourceName(aws.ToString(o.ComputeEnvironment), kindEnvironment))
		q.order = append(q.order, aws.ToInt32(o.Order))
	}
}

package model

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Dispatcher runs the scheduler of the engine for jobs, queues and machines that are not in a journal: those of
// a simulation. It keeps the order in queues and the usage of shares and environments; its caller keeps the time,
// the states of jobs and the machines.
type Dispatcher struct {
	scheduler
	fleet Fleet
	// capacity is what the machines may have at most, which bounds computeReservation.
	capacity Amount
	requests map[string]*awsbatch.SubmitJobInput // by queue: the part of a request that the scheduler reads
	// fits has the environments in which jobs fit, by JobSpec.Kind.
	fits [][]*Environment
	// last is the line that was used last, for the jobs with the request lastOf, and lastDecay its decay period.
	last      *QueueJobs
	lastOf    *awsbatch.SubmitJobInput
	lastDecay int64
	// decisions are those of the last pass; the next one uses their memory.
	decisions []decision
}

// NewDispatcher returns a dispatcher for queues, environments and policies in the form in which an engine creates
// them. capacity is the most that the machines of the fleet may offer together.
func NewDispatcher(queues []*Queue, environments []*Environment, policies []*Policy, capacity Amount,
	fleet Fleet) *Dispatcher {
	r := newControlPlane()
	for _, v := range environments {
		r.Environments[v.Name] = v
	}
	for _, p := range policies {
		r.Policies[p.Name] = p
	}
	d := &Dispatcher{scheduler: scheduler{&r, Lines{}}, fleet: fleet, capacity: capacity,
		requests: map[string]*awsbatch.SubmitJobInput{}}
	for _, q := range queues {
		r.addQueue(q)
		d.requests[q.Name] = &awsbatch.SubmitJobInput{JobQueue: aws.String(q.Name)}
	}
	return d
}

// JobSpec is the part of a job that decides where and when it starts.
type JobSpec struct {
	Queue    string
	Share    string // the fair-share identifier; "" in a FIFO queue
	Priority int32  // in the share, higher first
	Platform types.PlatformCapability
	Need     Amount
	// Kind is a small number that only jobs of the same queue, platform and need have in common.
	Kind int
}

// NewTask returns a task that a Dispatcher may run. seq is the order of submission. Dispatchers do not change
// tasks, so several may share one.
func (d *Dispatcher) NewTask(seq int64, r JobSpec) *Task {
	j := &Job{Seq: seq, Work: Work{Need: r.Need}, Request: d.requests[r.Queue],
		class: class{share: r.Share, priority: r.Priority, platform: r.Platform}, fit: r.Kind}
	j.Task = Task{Job: j, Index: -1, State: Runnable}
	return &j.Task
}

// Submit adds a task to its queue.
func (d *Dispatcher) Submit(t *Task) {
	d.Park(t)
	d.Requeue(t)
}

// Park adds a task that fits no environment: it never starts, but its share has a job.
func (d *Dispatcher) Park(t *Task) {
	if l := d.line(t); t.Job.class.share != "" {
		l.share(t.Job.class.share).open++
	}
}

// Requeue returns a task to its place in its queue, after an attempt that ended early.
func (d *Dispatcher) Requeue(t *Task) { d.line(t).enter(t) }

// Withdraw takes a waiting task out of its queue.
func (d *Dispatcher) Withdraw(t *Task) {
	d.line(t).leave(t)
	d.close(t)
}

// Start records that a task runs in an environment. A task that waited has left its queue.
func (d *Dispatcher) Start(now int64, t *Task, v *Environment) { d.occupy(now, t, v, 1) }

// Adopt adds a task that already runs.
func (d *Dispatcher) Adopt(now int64, t *Task, v *Environment) {
	d.Park(t)
	d.Start(now, t, v)
}

// Release records that the attempt of a task has ended.
func (d *Dispatcher) Release(now int64, t *Task, v *Environment) { d.occupy(now, t, v, -1) }

// Finish records that the attempt of a task has ended, and the task with it.
func (d *Dispatcher) Finish(now int64, t *Task, v *Environment) {
	d.Release(now, t, v)
	d.close(t)
}

// Waits reports whether a task waits in any queue.
func (d *Dispatcher) Waits() bool {
	for _, l := range d.lines {
		if len(l.waiting) > 0 {
			return true
		}
	}
	return false
}

// fitting returns the environments of a task's queue in which it fits, in order.
func (d *Dispatcher) fitting(j *Job) []*Environment {
	for len(d.fits) <= j.fit {
		d.fits = append(d.fits, nil)
	}
	if d.fits[j.fit] == nil {
		d.fits[j.fit] = d.resources.fitting(j)
	}
	return d.fits[j.fit]
}

// Schedule runs one pass of the scheduler at a time in epoch milliseconds. It calls started for every task that
// starts, after the task has left its queue and its environment is in use.
func (d *Dispatcher) Schedule(now int64, started func(*Task, *Environment)) {
	if d.fleet.Exhausted() {
		return
	}
	var lines []*picker
	for name, l := range d.lines {
		if len(l.waiting) > 0 {
			lines = append(lines, d.picker(name, now, d.capacity))
		}
	}
	if len(lines) == 0 {
		return
	}
	r := newFreeCapacity(d.capacity, &d.resources.ConsumableTable, d)
	r.fleet = d.fleet
	d.decisions = schedule(lines, r, d.decisions[:0])
	for _, one := range d.decisions {
		if one.Environment != nil {
			d.line(one.Task).leave(one.Task)
			d.Start(now, one.Task, one.Environment)
			started(one.Task, one.Environment)
		}
	}
}

// CopyWaiting makes the tasks wait that wait in another dispatcher, which has the same queues. Neither has had any
// task that started.
func (d *Dispatcher) CopyWaiting(from *Dispatcher) {
	for name, l := range from.lines {
		mine := d.lines.of(name)
		for c, tasks := range l.waiting {
			list := slices.Clone(*tasks)
			mine.waiting[c] = &list
		}
		for id, s := range l.shares {
			one := *s
			mine.shares[id] = &one
		}
	}
}

func (d *Dispatcher) line(t *Task) *QueueJobs {
	if r := t.Job.Request; d.last == nil || d.lastOf != r {
		d.last, d.lastOf, d.lastDecay = d.lines.of(*r.JobQueue), r, d.resources.Decay(*r.JobQueue)
	}
	return d.last
}

func (d *Dispatcher) occupy(now int64, t *Task, v *Environment, sign int64) {
	l := d.line(t)
	l.occupy(now, d.lastDecay, t, v, sign)
}

// close counts a task that has ended.
func (d *Dispatcher) close(t *Task) {
	if s := d.line(t).shares[t.Job.class.share]; s != nil {
		s.open--
	}
}

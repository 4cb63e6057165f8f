package model

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// errUnknownEvent is the error of an event that this program does not know.
var errUnknownEvent = errors.New("unknown event: written by a newer batchctl; use that version, or a new state directory")

// Apply adds an event to the model. An event that does not fit is an error and changes nothing: the
// journal is damaged or from a newer program.
func (m *Model) Apply(at int64, e Event) error {
	if known, err := m.applyResource(at, &e); known {
		return err
	}
	if known, err := m.Logs.apply(at, &e); known {
		return err
	}
	switch {
	case e.Registered != nil:
		return m.register(at, e.Registered)
	case e.Submitted != nil:
		return m.submit(at, e.Submitted)
	case e.ServiceSubmitted != nil:
		return m.submitService(at, e.ServiceSubmitted)
	}
	return m.applyJob(at, &e)
}

// applyResource applies the events that create, change or delete a resource; known is false for others. Jobs that
// wait are examined again.
func (m *Model) applyResource(at int64, e *Event) (known bool, err error) {
	if known, err = m.create(at, e); !known {
		known, err = m.update(at, e)
	}
	if !known || err != nil {
		return known, err
	}
	for _, q := range m.Queues {
		m.Lines.forgetDeadline(q.Name)
		if m.affects(e, q) {
			m.reconsider(q.Name)
		}
	}
	return true, nil
}

// applyJob applies the events about a job that exists.
func (m *Model) applyJob(at int64, e *Event) error {
	id := e.job()
	if id == "" {
		return errUnknownEvent
	}
	t := m.Task(id)
	if t == nil {
		return fmt.Errorf("job %q does not exist", id)
	}
	switch {
	case e.Stopped != nil:
		m.stop(t, e.Stopped)
	case e.Moved != nil:
		return m.moveAll(at, t, e.Moved)
	case e.Explained != nil:
		m.explain(at, t, e.Explained)
	case e.Started != nil:
		return m.start(at, t, e.Started)
	case e.Launched != nil:
		return m.launch(at, t, e.Launched)
	case e.Ended != nil:
		return m.end(at, t, e.Ended)
	case e.Prioritized != nil:
		return m.prioritize(t, e.Prioritized)
	case e.Preempted != nil:
		return m.preempt(at, t, e.Preempted)
	}
	return nil
}

// register adds a revision of a job definition.
func (m *Model) register(at int64, r *Registration) error {
	d, err := m.addRevision(r.Revision, r.Request.V)
	if err != nil {
		return err
	}
	m.remember(at, r.Invocation, d.ID())
	m.tag(ResourceOf(KindDefinition, d.ID()), d.Request.Tags)
	return nil
}

// submit adds a job with its children, as SUBMITTED or in the state that the event names.
func (m *Model) submit(at int64, s *Submission) error {
	d := m.Definition(s.Definition)
	if d == nil || s.ID == "" || m.Jobs[s.ID] != nil {
		return fmt.Errorf("submit job %q: unknown job definition %q, or the job exists", s.ID, s.Definition)
	}
	j, err := newJob(d, s)
	if err != nil {
		return err
	}
	m.add(at, j, s.Invocation)
	if s.To != NoState {
		return m.moveOne(at, &j.Task, s.To, "")
	}
	return nil
}

// submitService adds a service job. It waits for no other job, so it is RUNNABLE at once.
func (m *Model) submitService(at int64, s *ServiceSubmission) error {
	if s.ID == "" || m.Jobs[s.ID] != nil {
		return fmt.Errorf("submit service job %q: the job exists, or has no id", s.ID)
	}
	j, err := newServiceJob(s)
	if err != nil {
		return err
	}
	m.add(at, j, s.Invocation)
	if token := j.Service.Request.ClientToken; token != nil {
		m.tokens[aws.ToString(token)] = j
	}
	return m.moveOne(at, &j.Task, Runnable, "")
}

// add adds a new job as SUBMITTED, and records its call, its tags, and which resources it requests.
func (m *Model) add(at int64, j *Job, invocation string) {
	m.remember(at, invocation, j.ID)
	if len(j.Request.Tags) > 0 {
		m.tag(j.Resource(), j.Request.Tags)
	}
	m.ConsumableTable.index(j)
	m.addJob(at, j)
}

// start adds an attempt and reserves what it requests.
func (m *Model) start(at int64, t *Task, s *Start) error {
	to, environment := Starting, m.ServiceEnvironments[s.Environment]
	if t.Job.Service != nil {
		to, t.Job.Service.ScheduledAt = Scheduled, at
	} else {
		environment = m.environmentOfAttempt(s.Environment)
	}
	a := Attempt{Stream: s.Stream, GPUs: s.GPUs, Environment: environment, Executor: s.Executor, CreatedAt: at}
	if err := m.begin(at, t, to, a); err != nil {
		return err
	}
	m.noteInstance(t, t.Last())
	m.addAttempt(at, t)
	m.reserve(t.Job.Need, s.GPUs)
	m.occupy(at, t, environment, 1)
	return nil
}

// end records how the attempt ended and releases what it used.
func (m *Model) end(at int64, t *Task, e *end) error {
	if err := m.finish(at, t, e); err != nil {
		return err
	}
	a := t.Last()
	m.release(t.Job.Need, a.GPUs)
	m.occupy(at, t, a.Environment, -1)
	return nil
}

// occupy reserves (sign 1) or releases (sign -1) everything that an attempt uses besides the
// machine.
func (m *Model) occupy(at int64, t *Task, environment *Environment, sign int64) {
	name, decay := *t.Job.Request.JobQueue, int64(0)
	l := m.QueueJobs(name)
	if len(l.shares) > 0 {
		decay = m.Decay(name)
	}
	l.occupy(at, decay, t, environment, sign)
	m.hold(t.Job.Consumes, sign)
}

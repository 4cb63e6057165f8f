package model

import (
	"errors"
	"fmt"
)

// errUnknownEvent is the error of an event that this program does not know.
var errUnknownEvent = errors.New("unknown event: written by a newer batchctl; use that version, or a new state directory")

// Apply adds an event to the model. An event that does not fit is an error and changes nothing: the
// journal is damaged or from a newer program.
func (m *Model) Apply(at int64, e Event) error {
	if ok, err := m.applyResource(at, e); ok {
		return err
	}
	switch {
	case e.Registered != nil:
		return m.register(at, e.Registered)
	case e.Deregistered != nil:
		d := m.Definition(e.Deregistered.Definition)
		if d == nil {
			return fmt.Errorf("deregister %s: no such job definition", e.Deregistered.Definition)
		}
		d.Inactive = true
		return nil
	case e.Submitted != nil:
		return m.submit(at, e.Submitted)
	case e.ServiceSubmitted != nil:
		return m.submitService(at, e.ServiceSubmitted)
	}
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

// applyResource applies the events of the control plane; ok is false for others.
func (m *Model) applyResource(at int64, e Event) (ok bool, err error) {
	switch {
	case e.Queued != nil:
		m.queued(e.Queued)
	case e.QueueCreated != nil:
		err = m.createQueue(e.QueueCreated.V)
	case e.QueueUpdated != nil:
		err = m.updateQueue(e.QueueUpdated.V)
	case e.EnvironmentCreated != nil:
		err = m.createEnvironment(e.EnvironmentCreated)
	case e.EnvironmentUpdated != nil:
		err = m.updateEnvironment(e.EnvironmentUpdated.V)
	case e.PolicyCreated != nil:
		err = m.createPolicy(e.PolicyCreated.V)
	case e.PolicyUpdated != nil:
		err = m.updatePolicy(e.PolicyUpdated.V)
	case e.ConsumableCreated != nil:
		err = m.createConsumable(at, e.ConsumableCreated.V)
	case e.ConsumableUpdated != nil:
		err = m.updateConsumable(at, e.ConsumableUpdated)
	case e.ServiceEnvironmentCreated != nil:
		err = m.createServiceEnvironment(e.ServiceEnvironmentCreated.V)
	case e.ServiceEnvironmentUpdated != nil:
		err = m.updateServiceEnvironment(e.ServiceEnvironmentUpdated.V)
	case e.QuotaShareCreated != nil:
		err = m.createQuotaShare(e.QuotaShareCreated.V)
	case e.QuotaShareUpdated != nil:
		err = m.updateQuotaShare(e.QuotaShareUpdated.V)
	case e.Tagged != nil:
		m.tag(e.Tagged.Resource, e.Tagged.Tags)
	case e.Deleted != nil:
		err = m.remove(e.Deleted.Resource)
	case e.LogGroupCreated != nil:
		err = m.createLogGroup(at, e.LogGroupCreated)
	case e.LogStreamCreated != nil:
		err = m.createLogStream(at, e.LogStreamCreated)
	case e.RetentionSet != nil:
		m.logGroup(at, e.RetentionSet.Group).RetentionDays = e.RetentionSet.Days
	case e.LogGroupDeleted != nil:
		err = m.deleteLogGroup(e.LogGroupDeleted.Group)
	case e.LogGroupTagged != nil:
		m.logGroup(at, e.LogGroupTagged.Group).Tags = e.LogGroupTagged.Tags
	case e.LogStreamDeleted != nil:
		err = m.deleteLogStream(e.LogStreamDeleted)
	default:
		return false, nil
	}
	return true, err
}

// start adds an attempt and reserves what it requests.
func (m *Model) start(at int64, t *Task, s *Start) error {
	to, environment := Starting, m.ServiceEnvironments[s.Environment]
	if t.Job.Service != nil {
		to, t.Job.Service.ScheduledAt = Scheduled, at
	} else {
		environment = m.environmentOfAttempt(s.Environment)
	}
	if err := m.moveOne(at, t, to, ""); err != nil {
		return err
	}
	a := Attempt{Stream: s.Stream, GPUs: s.GPUs, Environment: environment, Executor: s.Executor, CreatedAt: at}
	t.Attempts = append(t.Attempts, a)
	m.active[t] = true
	m.noteInstance(t, &a)
	for _, r := range t.streams(len(t.Attempts) - 1) {
		m.streams[streamID(r.Name)] = t
		m.LogStreams = append(m.LogStreams, r)
		m.logGroup(at, r.Group).Attempts++
	}
	m.used = m.used.plus(t.Job.Need)
	m.occupy(at, t, a.Environment, 1)
	for _, d := range s.GPUs {
		m.busy[d] = true
	}
	return nil
}

// end records how the attempt ended and releases what it used.
func (m *Model) end(at int64, t *Task, e *end) error {
	a := t.Active()
	if a == nil || !t.State.mayBecome(e.To) {
		return fmt.Errorf("attempt of job %s ended, but the job is %s", t.ID(), t.State)
	}
	a.StoppedAt, a.Exit, a.Reason, a.StatusReason, a.Containers = at, e.Exit, e.Reason, e.StatusReason, e.Containers
	if e.Executor != "" { // older engines recorded it only at the end
		a.Executor = e.Executor
		m.noteInstance(t, a)
	}
	delete(m.active, t)
	if v := t.Job.Service; v != nil {
		a.Preempted, v.Preempting = e.Preempted, ""
	}
	m.used = m.used.minus(t.Job.Need)
	m.occupy(at, t, a.Environment, -1)
	for _, d := range a.GPUs {
		delete(m.busy, d)
	}
	reason := e.StatusReason
	if e.To == Runnable {
		reason = ""
	}
	m.set(at, t, e.To, reason)
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
	m.occupyOf(l, decay, at, t, environment, sign)
}

// occupyOf is occupy for a task of a queue whose jobs and decay period are known.
func (m *Model) occupyOf(l *QueueJobs, decay, at int64, t *Task, environment *Environment, sign int64) {
	j, milli := t.Job, sign*t.Job.load()
	l.inUse += milli
	switch {
	case j.Service != nil:
		l.occupyInstances(j, environment, sign)
	case environment != nil:
		environment.used += milli
	}
	if s := l.shares[j.class.share]; s != nil {
		s.use(at, milli, decay)
	}
	m.hold(j.Consumes, sign)
}

// index adds a job to the indexes of its queue and of its consumable resources, and records its
// tags.
func (m *Model) index(j *Job) {
	for _, r := range j.Consumes {
		if v := m.Consumables[r.Name]; v != nil {
			v.Jobs = append(v.Jobs, j)
		}
	}
	if len(j.Request.Tags) > 0 {
		m.tag(j.Resource(), j.Request.Tags)
	}
	m.QueueJobs(*j.Request.JobQueue).index(j)
}

package model

import (
	"fmt"
	"unique"
)

// moveAll moves a task, or all children of an array if the event is for all.
func (m *Model) moveAll(at int64, t *Task, v *move) error {
	if !v.All {
		return m.moveOne(at, t, v.To, v.Reason)
	}
	for i := range t.Job.Children {
		if err := m.moveOne(at, &t.Job.Children[i], v.To, v.Reason); err != nil {
			return err
		}
	}
	return nil
}

// moveOne moves one task. A move that the states do not allow is an error.
func (m *Model) moveOne(at int64, t *Task, to State, reason string) error {
	if !t.State.mayBecome(to) {
		return fmt.Errorf("job %s may not go from %s to %s", t.ID(), t.State, to)
	}
	m.set(at, t, to, reason)
	return nil
}

// set changes the state of t and updates the lists.
func (m *Model) set(at int64, t *Task, to State, reason string) {
	j, l, waited := t.Job, m.QueueJobs(*t.Job.Request.JobQueue), t.State.Waits()
	if t.State == Runnable {
		l.leave(t)
		l.leftAt = at
	}
	if t.IsChild() {
		if t.State != NoState {
			j.Tally[t.State]--
		}
		j.Tally[to]++
		j.TallyAt = at
	} else {
		l.Jobs[t.State].remove(t)
		l.Jobs[to].insert(t)
	}
	t.State, t.Reason, t.since, t.reasonAt, t.parked = to, reason, at, at, false
	switch {
	case to == Runnable:
		l.enter(t)
		m.due = append(m.due, t)
		if t.IsChild() && j.Tally[Runnable] == 1 {
			m.due = append(m.due, &j.Task) // it shows why its children wait
		}
	case to.Ended():
		t.StoppedAt = at
		if t.IsChild() { // its array may be stopped later
			t.Cancelled = t.Cancelled || j.Cancelled && waited
			t.Terminated = t.Terminated || j.Terminated
		}
		m.afterEnd(t)
	}
}

// stop records the request to end a task. Tasks of an array read it from their parent. The moves
// that follow are other events.
func (m *Model) stop(t *Task, s *Stop) {
	if s.Terminate {
		t.Terminated = true
	} else {
		t.Cancelled = true
	}
	t.stopReason = s.Reason
	m.due = append(m.due, t)
}

// explain records why a RUNNABLE task waits, and takes it out of its queue's order if it can
// never start.
func (m *Model) explain(at int64, t *Task, x *Explanation) {
	l := m.QueueJobs(*t.Job.Request.JobQueue)
	listed := t.State == Runnable && !t.IsParent()
	if listed {
		l.leave(t)
	}
	t.Reason, t.reasonAt, t.parked = x.Reason, at, x.Reason != "" && !x.Waits
	if listed {
		l.enter(t)
	}
}

// launch records that the command of the task's attempt runs.
func (m *Model) launch(at int64, t *Task, l *Launch) error {
	if err := m.moveOne(at, t, Running, ""); err != nil {
		return err
	}
	a := t.Last()
	a.Handle, a.StartedAt, t.StartedAt = l.Handle, at, at
	if l.ImageDigest != "" {
		a.ImageDigest = unique.Make(l.ImageDigest).Value() // many attempts have the same
	}
	return nil
}

// prioritize changes the scheduling priority of a service job and its position in the queue.
func (m *Model) prioritize(t *Task, p *Prioritization) error {
	j := t.Job
	if j.Service == nil {
		return fmt.Errorf("job %s is not a service job and keeps its priority", j.ID)
	}
	l := m.QueueJobs(*j.Request.JobQueue)
	if t.State == Runnable {
		l.leave(t)
	}
	j.Request.SchedulingPriorityOverride = &p.Priority
	j.class = classOf(j)
	if t.State == Runnable {
		l.enter(t)
	}
	return nil
}

// preempt marks an attempt that is asked to end for another job.
func (m *Model) preempt(at int64, t *Task, p *Preemption) error {
	if t.Job.Service == nil || t.Active() == nil {
		return fmt.Errorf("job %s has no attempt of a service job that could be preempted", t.ID())
	}
	t.Job.Service.Preempting = p.Reason
	t.Reason, t.reasonAt = preempting+p.Reason, at
	return nil
}

package model

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Due returns the first task that may need a follow-up event; nil if there is none.
func (m *Model) Due() *Task {
	if len(m.due) == 0 {
		m.due = nil
		return nil
	}
	return m.due[0]
}

// Follow returns the events that follow for t, the task of Due, on a machine with that capacity.
// If nothing follows, t is no longer due.
func (m *Model) Follow(t *Task, capacity Amount) []Event {
	events := m.next(t, capacity)
	if len(events) == 0 {
		m.due = m.due[1:]
	}
	return events
}

// Recover marks every unfinished task as due, and returns the tasks whose attempts an earlier
// engine left running.
func (m *Model) Recover() (left []*Task) {
	m.due = nil
	add := func(t *Task) {
		if t.State.Ended() {
			return
		}
		m.due = append(m.due, t)
		if t.Active() != nil {
			left = append(left, t)
		}
	}
	for _, j := range m.BySubmission {
		if j.State.Ended() {
			continue
		}
		add(&j.Task)
		for i := range j.Children {
			add(&j.Children[i])
		}
	}
	return left
}

// Unfinished returns the jobs that have not ended, in the order of submission.
func (m *Model) Unfinished() []*Job {
	return slices.Collect(func(yield func(*Job) bool) {
		for _, j := range m.BySubmission {
			if !j.State.Ended() && !yield(j) {
				return
			}
		}
	})
}

// next returns the events that follow for t: the moves that dependencies, stops and children
// require, and why a RUNNABLE job cannot start. It changes nothing, and returns nothing if
// nothing is due. So calling it for every job after a restart repairs whatever a crash
// interrupted.
func (m *Model) next(t *Task, machine Amount) []Event {
	if t.IsParent() {
		return m.nextOfArray(t, machine)
	}
	to, reason := m.belongs(t)
	switch {
	case to != t.State:
		return []Event{{Moved: &move{Job: t.ID(), To: to, Reason: reason}}}
	case t.State == Runnable:
		if why := m.unplaceable(t.Job, machine); why != t.stuck() {
			return []Event{{Explained: &Explanation{Job: t.ID(), Reason: why}}}
		}
	}
	return nil
}

// belongs returns the state in which a single task belongs, as long as no attempt of it runs.
func (m *Model) belongs(t *Task) (to State, reason string) {
	if !t.State.Waits() {
		return t.State, ""
	}
	if reason, ok := t.Stopped(); ok {
		return Failed, reason
	}
	if t.State == Runnable {
		return Runnable, ""
	}
	switch m.dependencies(t) {
	case Failed:
		return Failed, ReasonDependency
	case Succeeded:
		return Runnable, ""
	}
	return Pending, ""
}

// nextOfArray returns what follows for the parent of an array: its end, the moves of its
// children, or why they wait.
func (m *Model) nextOfArray(parent *Task, machine Amount) []Event {
	j := parent.Job
	switch ended := j.Tally[Succeeded] + j.Tally[Failed]; {
	case parent.State.Ended():
		return nil
	case parent.State == Submitted:
		return []Event{{Moved: &move{Job: j.ID, To: Pending}}}
	case int(ended) == len(j.Children) && j.Tally[Failed] > 0:
		reason, stopped := parent.Stopped()
		if !stopped {
			reason = ReasonChild
		}
		return []Event{{Moved: &move{Job: j.ID, To: Failed, Reason: reason}}}
	case int(ended) == len(j.Children):
		return []Event{{Moved: &move{Job: j.ID, To: Succeeded}}}
	}
	if events := m.nextOfChildren(j); len(events) > 0 || j.Tally[Runnable] == 0 {
		return events
	}
	// The parent also shows what its children wait for.
	if why := m.unplaceable(j, machine); why != parent.Reason {
		return []Event{{Explained: &Explanation{Job: j.ID, Reason: why}}}
	}
	return nil
}

// nextOfChildren returns what is due for each child; one event if it is the same for all.
func (m *Model) nextOfChildren(j *Job) []Event {
	var events []Event
	same := true
	for i := range j.Children {
		child := &j.Children[i]
		to, reason := m.belongs(child)
		if to == child.State {
			same = false
			continue
		}
		v := &move{Job: child.ID(), To: to, Reason: reason}
		if len(events) > 0 {
			first := events[0].Moved
			same = same && first.To == to && first.Reason == reason
		}
		events = append(events, Event{Moved: v})
	}
	if same && len(events) == len(j.Children) {
		first := events[0].Moved
		return []Event{{Moved: &move{Job: j.ID, All: true, To: first.To, Reason: first.Reason}}}
	}
	return events
}

// dependencies returns Failed if a dependency of t has failed, Succeeded if all have succeeded,
// and Pending otherwise.
func (m *Model) dependencies(t *Task) State {
	result := Succeeded
	for _, d := range t.Job.Request.DependsOn {
		on := m.dependency(t, d)
		switch {
		case on == nil || on.State == Succeeded:
		case on.State == Failed:
			return Failed
		default:
			result = Pending
		}
	}
	return result
}

// dependency returns the task that t waits for because of d; nil if it waits for none. N_TO_N
// means the child of the same index. SEQUENTIAL means the previous child. The first child waits
// for the job that d names, if it names one, and so do all.
func (m *Model) dependency(t *Task, d types.JobDependency) *Task {
	switch {
	case d.Type == types.ArrayJobDependencySequential && t.Index > 0:
		return &t.Job.Children[t.Index-1]
	case d.JobId == nil:
		return nil
	}
	on := m.Task(*d.JobId)
	if on != nil && d.Type == types.ArrayJobDependencyNToN && on.IsParent() && t.IsChild() {
		return &on.Job.Children[t.Index]
	}
	return on
}

// afterEnd marks every task as due that the end of t may move: its array, the next child, and its
// dependents.
func (m *Model) afterEnd(t *Task) {
	j := t.Job
	if !t.IsChild() {
		m.Active--
		if s := m.QueueJobs(*j.Request.JobQueue).shares[j.class.share]; s != nil {
			s.open--
		}
		for _, d := range j.dependents {
			m.due = append(m.due, &d.Task)
		}
		return
	}
	if int(j.Tally[Succeeded]+j.Tally[Failed]) == len(j.Children) {
		m.due = append(m.due, &j.Task)
	}
	for _, d := range j.Request.DependsOn {
		if d.Type == types.ArrayJobDependencySequential && int(t.Index)+1 < len(j.Children) {
			m.due = append(m.due, &j.Children[t.Index+1])
		}
	}
	for _, dependent := range j.dependents {
		m.dueAfterChild(dependent, t)
	}
}

// dueAfterChild marks as due what waits for a child: a job that names the child, or with N_TO_N
// the child of the same index.
func (m *Model) dueAfterChild(dependent *Job, child *Task) {
	for _, d := range dependent.Request.DependsOn {
		switch on := aws.ToString(d.JobId); {
		case on == child.ID():
			m.due = append(m.due, &dependent.Task)
		case on == child.Job.ID && d.Type == types.ArrayJobDependencyNToN && int(child.Index) < len(dependent.Children):
			m.due = append(m.due, &dependent.Children[child.Index])
		}
	}
}

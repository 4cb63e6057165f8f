package model

import (
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// followUp finds the events that follow for a task on a machine. It reads jobs and resources, and changes neither.
type followUp struct {
	jobs      *JobTable
	resources *ControlPlane
	machine   Amount
}

// next returns the events that follow for t: the moves that dependencies, stops and children
// require, and why a RUNNABLE job cannot start. It changes nothing, and returns nothing if
// nothing is due. So calling it for every job after a restart repairs whatever a crash
// interrupted.
func (f followUp) next(t *Task) []Event {
	if t.IsParent() {
		return f.nextOfArray(t)
	}
	to, reason := f.belongs(t)
	switch {
	case to != t.State:
		return []Event{{Moved: &move{Job: t.ID(), To: to, Reason: reason}}}
	case t.State == Runnable:
		if why := f.resources.unplaceable(t.Job, f.machine); why != t.stuck() {
			return []Event{{Explained: &Explanation{Job: t.ID(), Reason: why}}}
		}
	}
	return nil
}

// belongs returns the state in which a single task belongs, as long as no attempt of it runs.
func (f followUp) belongs(t *Task) (to State, reason string) {
	if !t.State.Waits() {
		return t.State, ""
	}
	dependencies := Succeeded
	if t.State != Runnable {
		dependencies = f.dependencies(t)
	}
	reason, stopped := t.Stopped()
	switch {
	// "A PENDING job is canceled after all dependency jobs are completed" (API reference of CancelJob).
	case stopped && (dependencies != Pending || t.Terminated || t.Job.Terminated):
		return Failed, reason
	case dependencies == Failed:
		return Failed, ReasonDependency
	case dependencies == Pending:
		return Pending, ""
	}
	return Runnable, ""
}

// stuck returns why the task fits no environment, if that is already recorded.
func (t *Task) stuck() string {
	if t.parked {
		return t.Reason
	}
	return ""
}

// nextOfArray returns what follows for the parent of an array: its end, the moves of its
// children, or why they wait.
func (f followUp) nextOfArray(parent *Task) []Event {
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
	if events := f.nextOfChildren(j); len(events) > 0 || j.Tally[Runnable] == 0 {
		return events
	}
	// The parent also shows what its children wait for.
	if why := f.resources.unplaceable(j, f.machine); why != parent.Reason {
		return []Event{{Explained: &Explanation{Job: j.ID, Reason: why}}}
	}
	return nil
}

// nextOfChildren returns what is due for each child; one event if it is the same for all.
func (f followUp) nextOfChildren(j *Job) []Event {
	var events []Event
	same := true
	for i := range j.Children {
		child := &j.Children[i]
		to, reason := f.belongs(child)
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
func (f followUp) dependencies(t *Task) State {
	result := Succeeded
	for _, d := range t.Job.Request.DependsOn {
		on := f.dependency(t, d)
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
func (f followUp) dependency(t *Task, d types.JobDependency) *Task {
	switch {
	case d.Type == types.ArrayJobDependencySequential && t.Index > 0:
		return &t.Job.Children[t.Index-1]
	case d.JobId == nil:
		return nil
	}
	on := f.jobs.Task(*d.JobId)
	if on != nil && d.Type == types.ArrayJobDependencyNToN && on.IsParent() && t.IsChild() {
		return &on.Job.Children[t.Index]
	}
	return on
}

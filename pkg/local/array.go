package local

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Due returns the first task for which something may follow from what happened; nil: there is none.
func (m *model) Due() *task {
	if len(m.due) == 0 {
		m.due = nil
		return nil
	}
	return m.due[0]
}

// Follow returns what follows for t, which is that of Due, on a machine of that capacity. When nothing follows, t is
// not due any more.
func (m *model) Follow(t *task, capacity amount) []event {
	events := m.next(t, capacity)
	if len(events) == 0 {
		m.due = m.due[1:]
	}
	return events
}

// Recover makes everything due that has not ended, and returns the tasks whose attempts an earlier engine left
// under way.
func (m *model) Recover() (left []*task) {
	m.due = nil
	add := func(t *task) {
		if t.state.ended() {
			return
		}
		m.due = append(m.due, t)
		if t.active() != nil {
			left = append(left, t)
		}
	}
	for _, j := range m.order {
		if j.state.ended() {
			continue
		}
		add(&j.task)
		for i := range j.children {
			add(&j.children[i])
		}
	}
	return left
}

// Unfinished returns the jobs that have not ended, in the order of submission.
func (m *model) Unfinished() []*job {
	return slices.Collect(func(yield func(*job) bool) {
		for _, j := range m.order {
			if !j.state.ended() && !yield(j) {
				return
			}
		}
	})
}

// next returns what follows for t from what is known: the moves that
// dependencies, stops and children make due, and why a RUNNABLE job cannot
// start. It changes nothing and returns nothing when nothing is due, so asking
// it about every job after a restart repairs whatever a crash cut short.
func (m *model) next(t *task, machine amount) []event {
	if t.isParent() {
		return m.nextOfArray(t, machine)
	}
	to, reason := m.belongs(t)
	switch {
	case to != t.state:
		return []event{{Moved: &move{Job: t.id(), To: to, Reason: reason}}}
	case t.state == runnable:
		if why := m.unplaceable(t.job, machine); why != t.stuck() {
			return []event{{Explained: &explanation{Job: t.id(), Reason: why}}}
		}
	}
	return nil
}

// belongs is the state in which a single task belongs, as long as nothing of it runs.
func (m *model) belongs(t *task) (to state, reason string) {
	if !t.state.waits() {
		return t.state, ""
	}
	if reason, ok := t.stopped(); ok {
		return failed, reason
	}
	if t.state == runnable {
		return runnable, ""
	}
	switch m.dependencies(t) {
	case failed:
		return failed, reasonDependency
	case succeeded:
		return runnable, ""
	}
	return pending, ""
}

func (m *model) nextOfArray(parent *task, machine amount) []event {
	j := parent.job
	switch ended := j.tally[succeeded] + j.tally[failed]; {
	case parent.state.ended():
		return nil
	case parent.state == submitted:
		return []event{{Moved: &move{Job: j.id, To: pending}}}
	case int(ended) == len(j.children) && j.tally[failed] > 0:
		reason, stopped := parent.stopped()
		if !stopped {
			reason = reasonChild
		}
		return []event{{Moved: &move{Job: j.id, To: failed, Reason: reason}}}
	case int(ended) == len(j.children):
		return []event{{Moved: &move{Job: j.id, To: succeeded}}}
	}
	if events := m.nextOfChildren(j); len(events) > 0 || j.tally[runnable] == 0 {
		return events
	}
	// What keeps the children waiting is said of the parent too.
	if why := m.unplaceable(j, machine); why != parent.reason {
		return []event{{Explained: &explanation{Job: j.id, Reason: why}}}
	}
	return nil
}

// nextOfChildren is what is due for each child; one event when it is the same for all.
func (m *model) nextOfChildren(j *job) []event {
	var events []event
	same := true
	for i := range j.children {
		child := &j.children[i]
		to, reason := m.belongs(child)
		if to == child.state {
			same = false
			continue
		}
		v := &move{Job: child.id(), To: to, Reason: reason}
		if len(events) > 0 {
			first := events[0].Moved
			same = same && first.To == to && first.Reason == reason
		}
		events = append(events, event{Moved: v})
	}
	if same && len(events) == len(j.children) {
		first := events[0].Moved
		return []event{{Moved: &move{Job: j.id, All: true, To: first.To, Reason: first.Reason}}}
	}
	return events
}

// dependencies is failed when one dependency of t has failed, succeeded when all
// have succeeded, and pending otherwise.
func (m *model) dependencies(t *task) state {
	result := succeeded
	for _, d := range t.job.request.DependsOn {
		on := m.dependency(t, d)
		switch {
		case on == nil || on.state == succeeded:
		case on.state == failed:
			return failed
		default:
			result = pending
		}
	}
	return result
}

// dependency is the task that t waits for because of d; nil: none. N_TO_N means
// the child of the same index, SEQUENTIAL the child before: the first one waits for the
// job, if d names one, and so do all.
func (m *model) dependency(t *task, d types.JobDependency) *task {
	switch {
	case d.Type == types.ArrayJobDependencySequential && t.index > 0:
		return &t.job.children[t.index-1]
	case d.JobId == nil:
		return nil
	}
	on := m.task(*d.JobId)
	if on != nil && d.Type == types.ArrayJobDependencyNToN && on.isParent() && t.isChild() {
		return &on.job.children[t.index]
	}
	return on
}

// afterEnd puts on the list what the end of t may move: its array, the child behind
// it, and whoever depends on it.
func (m *model) afterEnd(t *task) {
	j := t.job
	if !t.isChild() {
		m.active--
		if s := m.line(*j.request.JobQueue).shares[j.class.share]; s != nil {
			s.open--
		}
		for _, d := range j.dependents {
			m.due = append(m.due, &d.task)
		}
		return
	}
	if int(j.tally[succeeded]+j.tally[failed]) == len(j.children) {
		m.due = append(m.due, &j.task)
	}
	for _, d := range j.request.DependsOn {
		if d.Type == types.ArrayJobDependencySequential && int(t.index)+1 < len(j.children) {
			m.due = append(m.due, &j.children[t.index+1])
		}
	}
	for _, dependent := range j.dependents {
		m.dueAfterChild(dependent, t)
	}
}

func (m *model) dueAfterChild(dependent *job, child *task) {
	for _, d := range dependent.request.DependsOn {
		switch on := aws.ToString(d.JobId); {
		case on == child.id():
			m.due = append(m.due, &dependent.task)
		case on == child.job.id && d.Type == types.ArrayJobDependencyNToN && int(child.index) < len(dependent.children):
			m.due = append(m.due, &dependent.children[child.index])
		}
	}
}

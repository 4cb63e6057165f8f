package model

// Changed returns the tasks whose status an event changed, after Apply of the event. The submission itself is no
// change: only a state that the job enters at once is.
func (m *Model) Changed(e Event) []*Task {
	switch {
	case e.Submitted != nil && e.Submitted.To != NoState:
		return []*Task{&m.Jobs[e.Submitted.ID].Task}
	case e.Moved != nil && e.Moved.All:
		j := m.Jobs[e.Moved.Job]
		all := make([]*Task, len(j.Children))
		for i := range j.Children {
			all[i] = &j.Children[i]
		}
		return all
	case e.Moved != nil, e.Started != nil, e.Launched != nil, e.Ended != nil:
		return []*Task{m.Task(e.job())}
	}
	return nil
}

// QueuesOf returns the queues whose head an event may have changed, after Apply of the event.
func (m *Model) QueuesOf(e Event) []string {
	switch {
	case e.Submitted != nil:
		return []string{*e.Submitted.Request.V.JobQueue}
	case e.Moved != nil, e.Started != nil, e.Launched != nil, e.Ended != nil, e.Explained != nil:
		return []string{*m.Task(e.job()).Job.Request.JobQueue}
	}
	return nil
}

// Head returns the RUNNABLE task of a queue that was submitted first; nil if there is none.
func (m *Model) Head(queue string) *Task {
	l := m.Lines[queue]
	if l == nil {
		return nil
	}
	var first *Task
	consider := func(list Ordered) {
		if len(list) > 0 && (first == nil || list[0].compare(first) < 0) {
			first = list[0]
		}
	}
	for _, list := range l.waiting {
		consider(*list)
	}
	consider(l.parked)
	return first
}

// DropDue forgets which tasks are due. It is for a model that only follows the journal of an engine: the engine
// writes what follows.
func (m *Model) DropDue() { m.due = nil }

// StateOf returns the state of node i of a job, or of the task itself if i is negative.
func (t *Task) StateOf(i int) State {
	if i < 0 {
		return t.State
	}
	return t.NodeState(i)
}

// IDOf returns the id of node i of a job, or of the task itself if i is negative.
func (t *Task) IDOf(i int) string {
	if i < 0 {
		return t.ID()
	}
	return NodeID(t.Job.ID, i)
}

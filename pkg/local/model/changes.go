package model

// Changed returns the tasks whose status an event changed, after Apply of the event. The submission itself is no
// change: only a state that the job enters at once is.
func (s *JobTable) Changed(e Event) []*Task {
	switch {
	case e.Submitted != nil && e.Submitted.To != NoState:
		return []*Task{&s.Jobs[e.Submitted.ID].Task}
	case e.ServiceSubmitted != nil:
		return []*Task{&s.Jobs[e.ServiceSubmitted.ID].Task}
	case e.Moved != nil && e.Moved.All:
		j := s.Jobs[e.Moved.Job]
		all := make([]*Task, len(j.Children))
		for i := range j.Children {
			all[i] = &j.Children[i]
		}
		return all
	case e.Moved != nil, e.Started != nil, e.Launched != nil, e.Ended != nil:
		return []*Task{s.Task(e.job())}
	}
	return nil
}

// QueuesOf returns the queues whose head an event may have changed, after Apply of the event.
func (s *JobTable) QueuesOf(e Event) []string {
	switch {
	case e.Submitted != nil:
		return []string{*e.Submitted.Request.V.JobQueue}
	case e.ServiceSubmitted != nil:
		return []string{*s.Jobs[e.ServiceSubmitted.ID].Request.JobQueue}
	case e.Moved != nil, e.Started != nil, e.Launched != nil, e.Ended != nil, e.Explained != nil:
		return []string{*s.Task(e.job()).Job.Request.JobQueue}
	}
	return nil
}

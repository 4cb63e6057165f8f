package model

import (
	"slices"
	"strconv"
	"strings"
)

// JobTable has the jobs, with the lists and indexes that find them. Only its methods in moves.go change the state of a
// job.
type JobTable struct {
	Jobs         map[string]*Job
	BySubmission []*Job
	Lines        Lines
	Active       int               // jobs that have not ended
	active       map[*Task]bool    // have an attempt that has not ended
	tokens       map[string]*Job   // service jobs, by their client tokens
	digests      map[string]string // one copy of each image digest of attempts
	dueTasks
}

// newJobTable returns a table without jobs.
func newJobTable() JobTable {
	return JobTable{Jobs: map[string]*Job{}, Lines: Lines{}, active: map[*Task]bool{}, tokens: map[string]*Job{},
		digests: map[string]string{}}
}

// QueueJobs returns the jobs of a queue, and adds an empty list if there is none.
func (s *JobTable) QueueJobs(queue string) *QueueJobs {
	return s.Lines.of(queue)
}

// Task returns the task with an id or id:index; nil if it does not exist.
func (s *JobTable) Task(id string) *Task {
	name, index, ok := SplitID(id)
	j := s.Jobs[name]
	switch {
	case j == nil || !ok:
		return nil
	case index < 0:
		return &j.Task
	case int(index) < len(j.Children):
		return &j.Children[index]
	}
	return nil
}

// Node returns the task and index of the node with an id job#index; t is nil if it does not
// exist.
func (s *JobTable) Node(id string) (t *Task, i int) {
	name, text, ok := strings.Cut(id, "#")
	j := s.Jobs[name]
	i, err := strconv.Atoi(text)
	if !ok || err != nil || j == nil || i < 0 || i >= j.Nodes() || strconv.Itoa(i) != text {
		return nil, 0
	}
	return &j.Task, i
}

// ServiceJob returns the service job with an id; nil if it does not exist.
func (s *JobTable) ServiceJob(id string) *Job {
	if j := s.Jobs[id]; j != nil && j.Service != nil {
		return j
	}
	return nil
}

// SubmittedWith returns the service job of an earlier request with a client token; nil if there is none,
// or the token is no longer valid.
func (s *JobTable) SubmittedWith(token string, now int64) *Job {
	if j := s.tokens[token]; j != nil && now-j.CreatedAt <= tokenLife {
		return j
	}
	return nil
}

// Unfinished returns the jobs that have not ended, in the order of submission.
func (s *JobTable) Unfinished() []*Job {
	return slices.Collect(func(yield func(*Job) bool) {
		for _, j := range s.BySubmission {
			if !j.State.Ended() && !yield(j) {
				return
			}
		}
	})
}

// HasActiveAttempt reports whether an attempt has started and not ended.
func (s *JobTable) HasActiveAttempt() bool { return len(s.active) > 0 }

// Head returns the RUNNABLE task of a queue that was submitted first; nil if there is none.
func (s *JobTable) Head(queue string) *Task {
	l := s.Lines[queue]
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

// Recover marks every unfinished task as due, and returns the tasks whose attempts an earlier
// engine left running.
func (s *JobTable) Recover() (left []*Task) {
	s.due = nil
	add := func(t *Task) {
		if t.State.Ended() {
			return
		}
		s.addDue(t)
		if t.Active() != nil {
			left = append(left, t)
		}
	}
	for _, j := range s.BySubmission {
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

// reconsider marks the waiting jobs of a queue as due: the cause of their wait may have changed.
func (s *JobTable) reconsider(queue string) {
	l := s.Lines[queue]
	if l == nil {
		return
	}
	for t := range l.runnable() {
		s.addDue(t)
	}
	s.due = append(s.due, l.Jobs[Pending]...) // parents of arrays show it too
}

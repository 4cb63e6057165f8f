package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// QueueJobs returns the jobs of a queue, and adds an empty list if there is none.
func (m *Model) QueueJobs(queue string) *QueueJobs {
	l := m.Lines[queue]
	if l == nil {
		l = NewLine()
		m.Lines[queue] = l
	}
	return l
}

// Task returns the task with an id or id:index; nil if it does not exist.
func (m *Model) Task(id string) *Task {
	name, index, ok := SplitID(id)
	j := m.Jobs[name]
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
func (m *Model) Node(id string) (t *Task, i int) {
	name, text, ok := strings.Cut(id, "#")
	j := m.Jobs[name]
	i, err := strconv.Atoi(text)
	if !ok || err != nil || j == nil || !j.IsMultiNode() || i < 0 || i >= len(j.Parts) || strconv.Itoa(i) != text {
		return nil, 0
	}
	return &j.Task, i
}

// ServiceJob returns the service job with an id; nil if it does not exist.
func (m *Model) ServiceJob(id string) *Job {
	if j := m.Jobs[id]; j != nil && j.Service != nil {
		return j
	}
	return nil
}

// SubmittedWith returns the service job of an earlier request with a client token; nil if there is none,
// or the token is no longer valid.
func (m *Model) SubmittedWith(token string, now int64) *Job {
	if j := m.tokens[token]; j != nil && now-j.CreatedAt <= tokenLife {
		return j
	}
	return nil
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

// HasActiveAttempt reports whether an attempt has started and not ended.
func (m *Model) HasActiveAttempt() bool { return len(m.active) > 0 }

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

// add adds a new job as SUBMITTED.
func (m *Model) add(at int64, j *Job, invocation string) {
	m.invocations.remember(at, invocation, j.ID)
	m.Jobs[j.ID] = j
	m.BySubmission = append(m.BySubmission, j)
	m.Active++
	m.index(j)
	for _, dep := range j.Request.DependsOn {
		if on := m.Task(aws.ToString(dep.JobId)); on != nil && !slices.Contains(on.Job.dependents, j) {
			on.Job.dependents = append(on.Job.dependents, j)
		}
	}
	m.set(at, &j.Task, Submitted, "")
	for i := range j.Children {
		m.set(at, &j.Children[i], Submitted, "")
	}
	m.due = append(m.due, &j.Task)
}

// reconsider marks the waiting jobs of some queues as due: the cause of their wait may have
// changed.
func (m *Model) reconsider(which func(*Queue) bool) {
	for _, q := range m.Queues {
		l := m.Lines[q.Name]
		if l == nil || !which(q) {
			continue
		}
		for t := range l.runnable() {
			m.due = append(m.due, t)
		}
		m.due = append(m.due, l.Jobs[Pending]...) // parents of arrays show it too
	}
}

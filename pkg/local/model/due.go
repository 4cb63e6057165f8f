package model

import (
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

// DropDue forgets which tasks are due. It is for a model that only follows the journal of an engine: the engine
// writes what follows.
func (m *Model) DropDue() { m.due = nil }

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

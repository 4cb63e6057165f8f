package model

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// dueTasks are the tasks whose next move may have become possible. The list is derived: followUp.next returns the same
// for any task at any time.
type dueTasks struct {
	due []*Task
}

// addDue marks a task as due.
func (s *dueTasks) addDue(t *Task) { s.due = append(s.due, t) }

// removeDue takes the task of Due off the list.
func (s *dueTasks) removeDue() { s.due = s.due[1:] }

// Due returns the first task that may need a follow-up event; nil if there is none.
func (s *dueTasks) Due() *Task {
	if len(s.due) == 0 {
		s.due = nil
		return nil
	}
	return s.due[0]
}

// DropDue forgets which tasks are due. It is for a model that only follows the journal of an engine: the engine
// writes what follows.
func (s *dueTasks) DropDue() { s.due = nil }

// addAfterEnd marks every task as due that the end of t may move: its array, the next child, and its
// dependents.
func (s *dueTasks) addAfterEnd(t *Task) {
	j := t.Job
	if !t.IsChild() {
		for _, d := range j.dependents {
			s.addDue(&d.Task)
		}
		return
	}
	if int(j.Tally[Succeeded]+j.Tally[Failed]) == len(j.Children) {
		s.addDue(&j.Task)
	}
	for _, d := range j.Request.DependsOn {
		if d.Type == types.ArrayJobDependencySequential && int(t.Index)+1 < len(j.Children) {
			s.addDue(&j.Children[t.Index+1])
		}
	}
	for _, dependent := range j.dependents {
		s.addAfterChild(dependent, t)
	}
}

// addAfterChild marks as due what waits for a child: a job that names the child, or with N_TO_N
// the child of the same index.
func (s *dueTasks) addAfterChild(dependent *Job, child *Task) {
	for _, d := range dependent.Request.DependsOn {
		switch on := aws.ToString(d.JobId); {
		case on == child.ID():
			s.addDue(&dependent.Task)
		case on == child.Job.ID && d.Type == types.ArrayJobDependencyNToN && int(child.Index) < len(dependent.Children):
			s.addDue(&dependent.Children[child.Index])
		}
	}
}

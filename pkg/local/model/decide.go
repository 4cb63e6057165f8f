package model

import (
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// The decisions of a model: each reads its parts and changes nothing but the list of due tasks.

// Follow returns the events that follow for t, the task of Due, on a machine with that capacity.
// If nothing follows, t is no longer due.
func (m *Model) Follow(t *Task, capacity Amount) []Event {
	events := followUp{&m.JobTable, &m.ControlPlane, capacity}.next(t)
	if len(events) == 0 {
		m.removeDue()
	}
	return events
}

// scheduler returns the scheduler of the model's jobs.
func (m *Model) scheduler() scheduler { return scheduler{&m.ControlPlane, m.Lines} }

// Schedule decides which tasks start now on a machine with that capacity, and why others wait. now
// is in epoch milliseconds.
func (m *Model) Schedule(now int64, capacity Amount) []decision {
	return m.scheduler().choose(now, capacity, capacity.minus(m.used))
}

// Preemptions returns the events of attempts that must end so that other service jobs can start.
func (m *Model) Preemptions() []Event { return m.scheduler().preemptions() }

// Front returns the first RUNNABLE jobs of a queue in the order in which they may start, as if all of them
// fitted. Jobs that can never fit come last.
func (m *Model) Front(queue string, now int64, capacity Amount) []types.FrontOfQueueJobSummary {
	return m.scheduler().front(queue, now, capacity)
}

// FrontOfShares returns the first RUNNABLE job of each quota share of a queue.
func (m *Model) FrontOfShares(queue string, now int64) map[string][]types.FrontOfQuotaShareJobSummary {
	return m.scheduler().frontOfShares(queue, now)
}

// NextDeadline returns when the first action on any job is due, in epoch milliseconds; Never if
// none is.
func (m *Model) NextDeadline() int64 { return nextDeadline(m.Queues, m.Lines) }

// Overdue returns the events of all actions that are due.
func (m *Model) Overdue(now int64) []Event { return overdue(m.Queues, m.Lines, now) }

package local

import (
	"iter"
	"math"
	"strings"
)

// deadlines remembers when the first action on a job of a queue is due.
type deadlines struct {
	first int64 // epoch milliseconds
	stale bool  // a list of the queue has changed since
}

const never = math.MaxInt64

// deadline is when an action on t is due and its reason; never when none is. Nobody
// waits behind a job that cannot start here, so every such job counts as the head
// of its queue.
func (q *queue) deadline(t *task) (at int64, reason string) {
	if t.state != runnable || t.reason == "" || t.stopReason != "" {
		return never, ""
	}
	for _, a := range q.limits {
		if strings.HasPrefix(t.reason, *a.Reason) {
			return t.reasonAt + int64(*a.MaxTimeSeconds)*1000, *a.Reason
		}
	}
	return never, ""
}

// nextDeadline is when the first action on any job is due; never when none is.
func (m *model) nextDeadline() int64 {
	first := int64(never)
	for _, q := range m.known {
		l := m.queues[q.Name]
		if l == nil || len(q.limits) == 0 {
			continue
		}
		if l.limits.stale {
			l.limits = deadlines{first: never}
			for t := range l.runnable() {
				at, _ := q.deadline(t)
				l.limits.first = min(l.limits.first, at)
			}
		}
		first = min(first, l.limits.first)
	}
	return first
}

// overdue is the actions that are due now.
func (m *model) overdue(now int64) []event {
	if m.nextDeadline() > now {
		return nil
	}
	var events []event
	for _, q := range m.known {
		l := m.queues[q.Name]
		if l == nil || len(q.limits) == 0 || l.limits.first > now {
			continue
		}
		for t := range l.runnable() {
			if at, reason := q.deadline(t); at <= now {
				events = append(events, event{Stopped: &stop{Job: t.id(), Reason: "Canceled by JobStateTimeLimit action due to reason: " + reason}})
			}
		}
	}
	return events
}

// runnable yields the RUNNABLE tasks of the queue.
func (l *line) runnable() iter.Seq[*task] {
	return func(yield func(*task) bool) {
		for _, list := range l.waiting {
			for _, t := range list {
				if !yield(t) {
					return
				}
			}
		}
		for _, t := range l.parked {
			if !yield(t) {
				return
			}
		}
	}
}

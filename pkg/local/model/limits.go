package model

import (
	"math"
	"strings"
)

// Never is the deadline of a job without one.
const Never = math.MaxInt64

// deadline returns when an action on t is due, and its reason; Never if none is. A job that
// cannot start blocks no other job, so each such job counts as the head of its queue.
func (q *Queue) deadline(t *Task) (at int64, reason string) {
	if t.State != Runnable || t.Reason == "" || t.stopReason != "" {
		return Never, ""
	}
	for _, a := range q.TimeLimits {
		if strings.HasPrefix(t.Reason, *a.Reason) {
			return t.reasonAt + int64(*a.MaxTimeSeconds)*1000, *a.Reason
		}
	}
	return Never, ""
}

// nextDeadline returns when the first action on any job is due, in epoch milliseconds; Never if
// none is.
func nextDeadline(queues []*Queue, lines Lines) int64 {
	first := int64(Never)
	for _, q := range queues {
		l := lines[q.Name]
		if l == nil || len(q.TimeLimits) == 0 {
			continue
		}
		if l.limits.stale {
			l.limits = deadlines{first: Never}
			for t := range l.runnable() {
				at, _ := q.deadline(t)
				l.limits.first = min(l.limits.first, at)
			}
		}
		first = min(first, l.limits.first)
	}
	return first
}

// forgetDeadline makes the next nextDeadline compute the deadline of a queue again, because its time limits may differ.
func (lines Lines) forgetDeadline(queue string) {
	if l := lines[queue]; l != nil {
		l.limits.stale = true
	}
}

// overdue returns the events of all actions that are due.
func overdue(queues []*Queue, lines Lines, now int64) []Event {
	if nextDeadline(queues, lines) > now {
		return nil
	}
	var events []Event
	for _, q := range queues {
		l := lines[q.Name]
		if l == nil || len(q.TimeLimits) == 0 || l.limits.first > now {
			continue
		}
		for t := range l.runnable() {
			if at, reason := q.deadline(t); at <= now {
				s := &Stop{Job: t.ID(), Reason: "Canceled by JobStateTimeLimit action due to reason: " + reason}
				if t.Job.Service != nil {
					s.Terminate, s.Reason = true, "Terminated by JobStateTimeLimit action due to reason: "+reason
				}
				events = append(events, Event{Stopped: s})
			}
		}
	}
	return events
}

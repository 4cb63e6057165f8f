package model

import (
	"strings"
)

// Forgettable returns the jobs that ended before a time and that no unfinished job waits for.
func (m *Model) Forgettable(before int64) map[string]bool {
	old := map[string]bool{}
	for _, j := range m.BySubmission {
		if !j.State.Ended() || j.StoppedAt >= before {
			continue
		}
		// Keep the records of jobs that have used up a resource.
		waited := m.usesUp(j)
		for _, d := range j.dependents {
			waited = waited || !d.State.Ended()
		}
		if !waited {
			old[j.ID] = true
		}
	}
	return old
}

// Without returns the record without the events about some jobs.
func (r Record) Without(jobs map[string]bool) Record {
	kept := Record{At: r.At, Batchctl: r.Batchctl}
	for _, v := range r.Events {
		id := v.job()
		switch {
		case v.Submitted != nil:
			id = v.Submitted.ID
		case v.ServiceSubmitted != nil:
			id = v.ServiceSubmitted.ID
		}
		if job, _, _ := strings.Cut(id, ":"); !jobs[job] {
			kept.Events = append(kept.Events, v)
		}
	}
	return kept
}

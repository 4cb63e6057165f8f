package model

import (
	"strings"
)

// Forgettable is the jobs that ended before a moment, and that nobody who has not
// waits for.
func (m *Model) Forgettable(before int64) map[string]bool {
	old := map[string]bool{}
	for _, j := range m.BySubmission {
		if !j.State.Ended() || j.StoppedAt >= before {
			continue
		}
		// What a job has used up of a resource stays used: its record is kept.
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

// Without is the record less what is about some jobs.
func (r Record) Without(jobs map[string]bool) Record {
	kept := Record{At: r.At}
	for _, v := range r.Events {
		id := v.job()
		if v.Submitted != nil {
			id = v.Submitted.ID
		}
		if job, _, _ := strings.Cut(id, ":"); !jobs[job] {
			kept.Events = append(kept.Events, v)
		}
	}
	return kept
}

package local

import (
	"strings"
)

// forgettable is the jobs that ended before a moment, and that nobody who has not
// waits for.
func (m *model) forgettable(before int64) map[string]bool {
	old := map[string]bool{}
	for _, j := range m.order {
		if !j.state.ended() || j.stoppedAt >= before {
			continue
		}
		// What a job has used up of a resource stays used: its record is kept.
		waited := m.usesUp(j)
		for _, d := range j.dependents {
			waited = waited || !d.state.ended()
		}
		if !waited {
			old[j.id] = true
		}
	}
	return old
}

// without is the record less what is about some jobs.
func (r record) without(jobs map[string]bool) record {
	kept := record{At: r.At}
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

package local

import (
	"cmp"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// StatusUnknown is the status of an unfinished job while no engine is running. The journal still says
// RUNNING, but an engine that was killed cannot record how its jobs ended.
const StatusUnknown types.JobStatus = "UNKNOWN"

// noteAbsence finds out, after a read-only engine has read the journal, whether the states in it can be out of
// date: the engine that wrote them was killed. After an orderly end no attempt is left, and what waits still waits.
func (e *Engine) noteAbsence() {
	held, err := isHeld(e.root)
	if err != nil || held {
		return
	}
	_, err = e.root.Lstat(connectionFile)
	if killed := err == nil; killed || e.model.runs() {
		e.absentSince = cmp.Or(e.lastAt, 1)
	}
}

// runs reports whether an attempt has started and not ended.
func (m *model) runs() bool {
	for _, j := range m.order {
		if j.task.active() != nil {
			return true
		}
		for i := range j.children {
			if j.children[i].active() != nil {
				return true
			}
		}
	}
	return false
}

// Unknown returns the id of an unfinished job while no engine is running, how many there are (an array counts as one),
// and the time of the last record. Only an engine that was opened read-only has such jobs.
func (e *Engine) Unknown() (id string, jobs int, since time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.absentSince == 0 {
		return "", 0, time.Time{}
	}
	for _, j := range e.model.Unfinished() {
		id = j.id
		jobs++
	}
	return id, jobs, time.UnixMilli(e.absentSince).UTC()
}

// admit replaces the recorded status of an unfinished job if no engine is running.
func (a *API) admit(status *types.JobStatus, reason **string, counts map[string]int32) {
	absentSince := a.backend.AbsentSince()
	if absentSince == 0 {
		return
	}
	for _, s := range states {
		name := s.String()
		if n := counts[name]; n > 0 && !s.ended() {
			counts[string(StatusUnknown)] += n
			counts[name] = 0
		}
	}
	if s, ok := parseState(*status); !ok || s.ended() {
		return
	}
	since := time.UnixMilli(absentSince).UTC().Format(time.RFC3339)
	*reason = aws.String(fmt.Sprintf("unknown since %s: the engine is not running; the last recorded status is %s", since, *status))
	*status = StatusUnknown
}

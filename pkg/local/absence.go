package local

import (
	"cmp"
	"time"
)

// noteAbsence checks, after a read-only engine has read the journal, whether its states can be out
// of date because the engine that wrote them was killed. After an orderly shutdown no attempt is
// left, and waiting jobs still wait.
func (e *Engine) noteAbsence() {
	held, err := isHeld(e.directory.root)
	if err != nil || held {
		return
	}
	_, err = e.directory.root.Lstat(connectionFile)
	if killed := err == nil; killed || e.model.HasActiveAttempt() {
		e.absentSince = cmp.Or(e.lastAt, 1)
	}
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
		id = j.ID
		jobs++
	}
	return id, jobs, time.UnixMilli(e.absentSince).UTC()
}

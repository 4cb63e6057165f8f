package local

import (
	"cmp"
	"time"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// absentSince checks, after a read-only engine has read the journal into m, whether its states can be
// out of date because the engine that wrote them was killed. It returns the time of the latest record,
// lastAt, if so, else 0. After an orderly shutdown no attempt is left, and waiting jobs still wait.
func (d *stateDirectory) absentSince(m *model.Model, lastAt int64) int64 {
	held, err := isHeld(d.root)
	if err != nil || held {
		return 0
	}
	_, err = d.root.Lstat(connectionFile)
	if killed := err == nil; killed || m.HasActiveAttempt() {
		return cmp.Or(lastAt, 1)
	}
	return 0
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

package local

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/batchctl/batchctl/pkg/local/events"
	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// keepEnded is how long Batch keeps a job that has ended.
const keepEnded = 7 * 24 * time.Hour

// forgetFrom is the size of the journal from which old jobs are removed.
const forgetFrom = 4 << 20

// forget removes jobs that ended more than a week ago from the journal, with their logs, once they
// are half of it. It runs when a directory is opened, before its jobs are used. It reports whether
// it removed any.
func (e *Engine) forget() (bool, error) {
	old := e.model.Forgettable(time.Now().Add(-keepEnded).UnixMilli())
	if e.journal.Size() < e.options.forgetFrom || 2*len(old) < len(e.model.BySubmission) {
		return false, nil
	}
	positions := events.Rewrite{Root: e.directory.root, Queues: e.options.Queues, Destinations: e.options.Events, Size: e.journal.Size(), MaxHeld: e.options.maxHeld}
	if err := positions.Hold(old); err != nil || 2*len(old) < len(e.model.BySubmission) {
		return false, err
	}
	keep := func(text []byte) ([]byte, error) { return without(text, old) }
	err := positions.Prepare(old, keep)
	if err == nil {
		err = journal.Rewrite(e.directory.root, "journal", keep)
	}
	if err != nil {
		return false, errors.Join(err, positions.Cancel())
	}
	return true, nil
}

// without returns a record of the journal without the events of some jobs; nil if no event is left.
func without(text []byte, old map[string]bool) ([]byte, error) {
	var r model.Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	kept := r.Without(old)
	if len(kept.Events) == len(r.Events) {
		return text, nil
	}
	if len(kept.Events) == 0 && kept.Batchctl == "" {
		return nil, nil
	}
	return kept.Append(nil)
}

// startEvents begins to deliver events. Every record that is written from now on wakes the delivery.
func (e *Engine) startEvents() (err error) {
	e.delivery, err = events.Start(events.Settings{Destinations: e.options.Events, Root: e.directory.root, Queues: e.options.Queues,
		Journal: e.journal, End: e.replayedTo, Log: e.options.Log})
	return err
}

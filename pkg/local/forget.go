package local

import (
	"encoding/json"
	"errors"
	"os"
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
// it removed any. from is the size from which it runs, and positions are those of the events' destinations.
func (d *durableModel) forget(from int64, positions events.Rewrite) (bool, error) {
	old := d.model.Forgettable(time.Now().Add(-keepEnded).UnixMilli())
	if d.journal.Size() < from || 2*len(old) < len(d.model.BySubmission) {
		return false, nil
	}
	positions.Size = d.journal.Size()
	if err := positions.Hold(old); err != nil || 2*len(old) < len(d.model.BySubmission) {
		return false, err
	}
	keep := func(text []byte) ([]byte, error) { return without(text, old) }
	err := positions.Prepare(old, keep)
	if err == nil {
		err = journal.Rewrite(positions.Root, "journal", keep)
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

// startDelivery begins to deliver events. Every record that is written from now on has to wake the delivery.
func (d *durableModel) startDelivery(root *os.Root, o *Options) (*events.Delivery, error) {
	return events.Start(events.Settings{Destinations: o.Events, Root: root, Queues: o.Queues,
		Journal: d.journal, End: d.replayedTo, Log: o.Log})
}

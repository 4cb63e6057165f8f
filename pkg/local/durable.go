package local

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/local/events"
	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// durableModel is a model with the journal that has all its changes. The engine's lock guards it
// once the engine is open.
type durableModel struct {
	model   *model.Model
	journal *journal.Journal // nil when the engine is read-only
	build   buildinfo.Build  // of this program
	// writer is the build that wrote the latest records of the journal; "" if unknown.
	writer string
	// lastAt is when the latest record was written; 0 if there is none.
	lastAt int64
	// replayedTo is the end of the journal when it was opened.
	replayedTo events.Position
	text       []byte // of the last record, to write the next one in
}

// openJournal replays the journal into the model and opens it for new records.
func (d *durableModel) openJournal(dir *stateDirectory, log *slog.Logger) (err error) {
	var torn int
	if d.journal, torn, err = journal.Open(dir.root, "journal", d.replayed); err != nil {
		return err
	}
	if err := dir.checkRecords(d.lastAt); err != nil {
		return err
	}
	if torn > 0 {
		log.Warn("the journal ended in the middle of a record; the incomplete part is now in journal.torn",
			"directory", dir.root.Name(), "bytes", torn)
	}
	return nil
}

// readJournal replays the journal of a read-only engine.
func (d *durableModel) readJournal(dir *stateDirectory) error {
	err := dir.checkJournal()
	if err == nil {
		err = journal.Read(dir.root, "journal", d.replayed)
	}
	if err == nil {
		err = dir.checkRecords(d.lastAt)
	}
	return err
}

// replayed applies one line of the journal.
func (d *durableModel) replayed(text []byte) error {
	r, err := model.ReadRecord(text)
	d.writer = cmp.Or(r.Batchctl, d.writer)
	if unknown, ok := errors.AsType[*model.UnknownError](err); ok {
		return d.newer(unknown)
	}
	if err != nil {
		return err
	}
	d.replayedTo = d.replayedTo.After(text)
	return d.apply(r)
}

// newer returns the error for a record that this program cannot read.
func (d *durableModel) newer(unknown *model.UnknownError) error {
	writer, own := "a newer batchctl", ""
	if d.writer != "" {
		writer = "batchctl " + d.writer
	}
	if d.build.Version != "" {
		own = ", and this is " + d.build.String()
	}
	return fmt.Errorf("%w, written by %s%s; nothing was changed; use that version or a later one, or another state directory", unknown, writer, own)
}

// apply changes the model by a record, which is in the journal already.
func (d *durableModel) apply(r model.Record) error {
	d.lastAt = r.At
	for _, v := range r.Events {
		if err := d.model.Apply(r.At, v); err != nil {
			return err
		}
	}
	return nil
}

// record writes events to the journal, then applies them to the model.
func (d *durableModel) record(events ...model.Event) (position int64, err error) {
	r := model.Record{At: time.Now().UnixMilli(), Events: events}
	if own := d.build; own.Version != "" && own.String() != d.writer {
		r.Batchctl = own.String()
	}
	if d.text, err = r.Append(d.text[:0]); err != nil {
		return 0, fmt.Errorf("encode journal record: %w", err)
	}
	if position, err = d.journal.Append(d.text); err != nil {
		return 0, err
	}
	d.writer = cmp.Or(r.Batchctl, d.writer)
	if err := d.apply(r); err != nil {
		// The event was created from this very model, so this is a bug. Continuing with a model
		// that differs from the journal would make it worse.
		return 0, d.journal.Fail(fmt.Errorf("internal error: the engine's state is inconsistent: %w; it accepts no more requests", err))
	}
	return position, nil
}

package events

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// maxHeld is the size of the journal up to which jobs are kept because a destination needs their events.
const maxHeld = 64 << 20

// Rewrite is a rewrite of the journal that drops old jobs. It is prepared before the journal is opened for a Delivery.
type Rewrite struct {
	Root         *os.Root
	Queues       []model.QueueSpec
	Destinations []Destination
	// Size is the size of the journal.
	Size int64
	// MaxHeld replaces maxHeld if it is not 0.
	MaxHeld int64
}

// positions returns the saved position of each destination that has one in this journal.
func (r Rewrite) positions() (map[Destination]saved, error) {
	all := map[Destination]saved{}
	for _, to := range r.Destinations {
		s, err := readPosition(r.Root, to)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged) {
			continue // it will start at the end of the journal
		}
		if err == nil && s.Next != nil {
			s, err = resolve(r.Root, s)
		}
		found := false
		if err == nil {
			found, err = hasPosition(r.Root, s.Position)
		}
		if err != nil {
			return nil, err
		}
		if found {
			all[to] = s
		}
	}
	return all, nil
}

// Hold removes from old the jobs whose events a destination still needs, unless the journal has become too large for
// that.
func (r Rewrite) Hold(old map[string]bool) error {
	limit := r.MaxHeld
	if limit == 0 {
		limit = maxHeld
	}
	positions, err := r.positions()
	if err != nil || len(positions) == 0 || r.Size > limit {
		return err
	}
	return r.replay(positions, func(_ Destination, delivered bool, c change) {
		if !delivered {
			delete(old, c.task.Job.ID)
		}
	}, nil)
}

// Prepare saves where each destination will be after a rewrite that keep describes: it returns the new text of a
// record, or nil for a record that is dropped. Call Cancel if the rewrite fails.
func (r Rewrite) Prepare(old map[string]bool, keep func(record []byte) ([]byte, error)) error {
	positions, err := r.positions()
	if err != nil || len(positions) == 0 {
		return err
	}
	var end Position
	next := map[Destination]*saved{}
	for to, s := range positions {
		next[to] = &saved{Lost: s.Lost}
	}
	var at Position // in the new journal
	err = r.replay(positions, func(to Destination, delivered bool, c change) {
		if n := next[to]; !delivered && old[c.task.Job.ID] && n.Lost >= 0 {
			n.Lost++
		}
	}, func(before Position, text []byte) error {
		for to, s := range positions {
			if before.Records <= s.Records {
				next[to].Position = at // the delivered events of the next record are delivered again
			}
		}
		if text == nil {
			end = before
			return nil
		}
		kept, err := keep(text)
		if kept != nil {
			at = at.After(kept)
		}
		return err
	})
	if err != nil {
		return err
	}
	for to, s := range positions {
		s.Next, s.End = next[to], &end
		if err := r.write(to, s); err != nil {
			return err
		}
	}
	return nil
}

// Cancel saves the positions without those of a rewrite that failed.
func (r Rewrite) Cancel() error {
	positions, err := r.positions()
	for to, s := range positions {
		s.Next, s.End = nil, nil
		err = errors.Join(err, r.write(to, s))
	}
	return err
}

// write saves a position on disk.
func (r Rewrite) write(to Destination, s saved) error {
	file, err := r.Root.OpenFile(to.positionName(), os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	p := positionFile{file}
	return errors.Join(p.write(s), file.Sync(), file.Close())
}

// replay reads the journal. It calls begin before each record, and with nil after the last one, then found for each
// change of the record and each destination.
func (r Rewrite) replay(positions map[Destination]saved, found func(to Destination, delivered bool, c change),
	begin func(Position, []byte) error) error {
	p := newReplay(r.Queues)
	err := journal.Read(r.Root, "journal", func(text []byte) error {
		if begin != nil {
			if err := begin(p.at, text); err != nil {
				return err
			}
		}
		n := 0
		return p.apply(text, func(c change) error {
			n++
			for to, s := range positions {
				found(to, p.at.Records < s.Records || p.at.Records == s.Records && n <= s.Events, c)
			}
			return nil
		})
	})
	if err == nil && begin != nil {
		err = begin(p.at, nil)
	}
	if err != nil {
		return fmt.Errorf("find the positions of event destinations: %w", err)
	}
	return nil
}

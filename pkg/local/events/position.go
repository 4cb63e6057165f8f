package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"

	"github.com/batchctl/batchctl/pkg/local/journal"
)

// saved is the content of a position file: a position in the journal, and how many events of the next record were
// delivered.
type saved struct {
	Position
	Events int `json:"events,omitempty"`
	// Lost is how many events the next event must report as lost; lossUnknown if the number is unknown.
	Lost int64 `json:"lost,omitempty"`
	// Next is the same position in the journal that a rewrite is about to create, and End the end of the journal before.
	Next *saved    `json:"next,omitempty"`
	End  *Position `json:"end,omitempty"`
}

// lossUnknown stands for an unknown number of lost events.
const lossUnknown = -1

// positionSize is the size of a position file: one sector, which a disk writes completely or not at all.
const positionSize = 512

// positionFile keeps a saved position on disk.
type positionFile struct{ file *os.File }

// openPosition opens the position of a destination. A new one begins at the end of the journal, which is on disk when
// this returns: a kill must not move it.
func openPosition(s Settings, to Destination) (*positionFile, saved, error) {
	end := saved{Position: s.End}
	now, err := readPosition(s.Root, to)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case isNew:
		now = end
		s.Log.Info("delivery starts with new events; earlier changes are not included", "to", to.String())
	case errors.Is(err, errDamaged):
		s.Log.Error("an unknown number of events is lost: the file with the position of the destination is damaged; delivery continues with new events",
			"to", to.String(), "file", to.positionName())
		now, isNew = end, true
		now.Lost = lossUnknown
	case err != nil:
		return nil, saved{}, err
	case now.Next != nil:
		if now, err = resolve(s.Root, now); err != nil {
			return nil, saved{}, err
		}
		isNew = true
	}
	file, err := s.Root.OpenFile(to.positionName(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, saved{}, err
	}
	p := &positionFile{file}
	if isNew {
		if err = p.write(now); err == nil {
			err = errors.Join(file.Sync(), syncDirectory(s.Root))
		}
		if err != nil {
			return nil, saved{}, errors.Join(err, file.Close())
		}
	}
	return p, now, nil
}

// syncDirectory makes the names of new position files durable.
func syncDirectory(root *os.Root) error {
	dir, err := root.Open(directory)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// resolve returns which of the two positions before a rewrite belongs to the journal: a crash may have come before the
// rewrite.
func resolve(root *os.Root, p saved) (saved, error) {
	before := p.End == nil
	if !before {
		var err error
		if before, err = hasPosition(root, *p.End); err != nil {
			return p, err
		}
	}
	if !before {
		return *p.Next, nil
	}
	p.Next, p.End = nil, nil
	return p, nil
}

// hasPosition reports whether the records before a position are those of the journal.
func hasPosition(root *os.Root, p Position) (bool, error) {
	var at Position
	found := at == p
	err := journal.Read(root, "journal", func(record []byte) error {
		at = at.After(record)
		found = found || at == p
		return nil
	})
	return found, err
}

// errDamaged is the error for a position file without a position.
var errDamaged = errors.New("the position is damaged")

// readPosition returns the saved position of a destination.
func readPosition(root *os.Root, to Destination) (saved, error) {
	var s saved
	text, err := root.ReadFile(to.positionName())
	if err != nil {
		return s, err
	}
	sum, rest, _ := bytes.Cut(bytes.TrimRight(text, " \n"), []byte(" "))
	if string(sum) != checksum(rest) || json.Unmarshal(rest, &s) != nil {
		return s, fmt.Errorf("read %s: %w", to.positionName(), errDamaged)
	}
	return s, nil
}

// checksum returns the CRC-32C of a text in hex digits.
func checksum(text []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// write replaces the saved position.
func (p *positionFile) write(s saved) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	text = append([]byte(checksum(text)+" "), text...)
	if len(text) >= positionSize {
		return fmt.Errorf("save position: %d bytes are too many", len(text))
	}
	text = append(text, bytes.Repeat([]byte(" "), positionSize-1-len(text))...)
	if _, err := p.file.WriteAt(append(text, '\n'), 0); err != nil {
		return fmt.Errorf("save position: %w", err)
	}
	return nil
}

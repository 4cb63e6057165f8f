package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Ledger is the user's own record of what was submitted: one line of JSON for
// each accepted job in <Dir>/submissions.jsonl, for people and for Resolve. It
// is only ever appended to, and members that this version does not know are
// ignored, so that later versions can write more.
type Ledger struct {
	// Dir is made with mode 0700 when it is not there.
	Dir string
	// Target is where the jobs go: `local`, or `aws 123456789012 us-east-1`.
	Target string
}

// Entry is an accepted job.
type Entry struct {
	Time       time.Time `json:"time"`
	Target     string    `json:"target"`
	Queue      string    `json:"queue"`
	Name       string    `json:"name"`
	ID         string    `json:"id"`
	Definition string    `json:"definition,omitempty"`
	ArraySize  int       `json:"arraySize,omitempty"`
	// Run is the id of what one command submitted together, such as a workflow.
	Run string `json:"run,omitempty"`
}

// DamageError names lines of the ledger that could not be read and were skipped.
type DamageError struct {
	Path  string
	Lines []int // from 1
}

func (e *DamageError) Error() string {
	lines := strings.Trim(fmt.Sprint(e.Lines), "[]")
	return fmt.Sprintf("%s: line %s cannot be read and was skipped", e.Path, strings.ReplaceAll(lines, " ", ", "))
}

func (l *Ledger) path() string { return filepath.Join(l.Dir, "submissions.jsonl") }

// Append writes the entries and returns when they are on the disk. An empty
// Target becomes the ledger's own.
func (l *Ledger) Append(entries ...Entry) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	for _, e := range entries {
		if e.Target == "" {
			e.Target = l.Target
		}
		e.Time = e.Time.UTC().Truncate(time.Millisecond)
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return err
	}
	_, err := os.Stat(l.path())
	created := errors.Is(err, fs.ErrNotExist)
	if err := appendSync(l.path(), text.Bytes()); err != nil || !created {
		return err
	}
	return syncDir(l.Dir)
}

// appendSync writes text in one piece, on a line of its own even after a line
// that was torn by a crash.
func appendSync(path string, text []byte) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if torn, err := endsTorn(f); err != nil {
		return err
	} else if torn {
		text = append([]byte("\n"), text...)
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}

func endsTorn(f *os.File) (bool, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, size-1)
	return last[0] != '\n', err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Entries returns all entries, of every target, oldest first. A ledger that is
// not there is empty, and a torn last line is ignored: its job was never
// acknowledged. Damaged lines before it are skipped and named by a *DamageError
// that comes together with the rest.
func (l *Ledger) Entries() ([]Entry, error) {
	f, err := os.Open(l.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var entries []Entry
	var damaged []int
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return entries, err
		}
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.ID != "" {
			entries = append(entries, e)
		} else if len(bytes.TrimSpace(line)) > 0 {
			damaged = append(damaged, n)
		}
	}
	if damaged != nil {
		return entries, &DamageError{l.path(), damaged}
	}
	return entries, nil
}

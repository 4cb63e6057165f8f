package client

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The log of one run, <Ledger.Dir>/open/<run>.jsonl, is there while something of
// the run is open. Its first lines, written at once and synced before the first
// call, say where the run goes and what it will submit: the run, then an intent
// for each job. A line follows for each outcome. They are for people too.
//
// What holds in every moment, so that a crash in any of them can be repaired:
//  1. No SubmitJob is sent whose intent is not on the disk.
//  2. An intent without an outcome may or may not have been sent: it is looked up
//     at the service before it is sent again.
//  3. The log is removed only after its accepted jobs are in submissions.jsonl and what
//     its jobs wait for is in runs.jsonl, on the disk. A job that is in both counts once.
//  4. A job that waits in the client is sent only after its line "due" is on the
//     disk. Without that line it has not been sent.
//
// Texts that have to be staged lie in <run>.staged beside the log: written after the
// log was made and before its first lines, removed after it.
//
// Outcomes are synced when the run is closed. One that a power failure takes away
// leaves an intent without an outcome: see 2.

// What a line of a run's log says.
const (
	lineRun      = "run"      // the first line: where to, and how many intents follow
	lineResumed  = "resumed"  // another process goes on
	lineIntent   = "intent"   // a job that will be submitted
	lineUnclear  = "unclear"  // it was sent, and no clear answer came
	lineAccepted = "accepted" // it has an id
	lineRefused  = "refused"  // it was certainly not accepted
	lineChecked  = "checked"  // nothing doubles it any more
	lineDropped  = "dropped"  // the user gave it up
	lineDue      = "due"      // what it waited for in the client has ended: it is about to be sent
	lineSkipped  = "skipped"  // it is not needed
	lineResource = "resource" // a consumable resource of the run is about to be made
	lineStopping = "stopping" // a refusal: what was accepted is stopped, the rest given up
)

// line is a line of a run's log. Which members are set depends on What.
type line struct {
	Time time.Time `json:"time"`
	What string    `json:"what"`

	// Of the run, whose Name is the workflow's, and of who works on it.
	Run      string `json:"run,omitempty"`
	Target   string `json:"target,omitempty"`
	Host     string `json:"host,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Jobs     int    `json:"jobs,omitempty"`
	Attached bool   `json:"attached,omitempty"`

	// Of a job.
	Name       string          `json:"name,omitempty"`
	Submission string          `json:"submission,omitempty"`
	Queue      string          `json:"queue,omitempty"`
	ID         string          `json:"id,omitempty"`
	Definition string          `json:"definition,omitempty"`
	ArraySize  int             `json:"arraySize,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	After      []edge          `json:"after,omitempty"`
	Definer    *int            `json:"definer,omitempty"`
	SHA256     string          `json:"sha256,omitempty"` // of submit
	Submit     json.RawMessage `json:"submit,omitempty"`
	Register   json.RawMessage `json:"register,omitempty"`
	Earlier    []earlier       `json:"earlier,omitempty"`
	When       string          `json:"when,omitempty"`
	Staged     []staged        `json:"staged,omitempty"`

	// Of a job whose children share a consumable resource, and of that.
	Resource    string `json:"resource,omitempty"`
	MaxParallel int    `json:"maxParallel,omitempty"`
}

// edge is a dependency on a job of the same run.
type edge struct {
	Job  int    `json:"job"` // its place among the run's intents, from 0
	Type string `json:"type,omitempty"`
}

// LockedError says that another process works on a run.
type LockedError struct {
	Run, Host string
	PID       int
	Since     time.Time
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("run %s is being worked on by process %d on %s since %s; wait for it, or end it",
		e.Run, e.PID, e.Host, e.Since.Local().Format(time.DateTime))
}

var errLocked = errors.New("locked by another process")

// runLog is a run's log, locked by this process.
type runLog struct {
	path string
	file *os.File
}

func (l *Ledger) openDir() string { return filepath.Join(l.Dir, "open") }

func (l *Ledger) runPath(run string) string { return filepath.Join(l.openDir(), run+".jsonl") }

// begin writes the texts that a new run stages and its first lines, and returns when
// they are on the disk.
func (l *Ledger) begin(run string, texts []staged, lines []line) (*runLog, error) {
	if err := makeDir(l.openDir()); err != nil {
		return nil, err
	}
	l.sweepStaged()
	file, err := os.OpenFile(l.runPath(run), os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	log := &runLog{l.runPath(run), file}
	err = lockFile(file)
	if err == nil {
		err = log.keepStaged(texts)
	}
	if err == nil {
		err = log.write(lines...)
	}
	if err = cmp.Or(err, file.Sync(), syncDir(l.openDir())); err != nil {
		return nil, errors.Join(err, log.remove())
	}
	return log, nil
}

// makeDir makes a directory and its parents, each on the disk when it returns.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// reopen takes a run that no process works on and returns what its log says.
// A run that has been closed meanwhile is fs.ErrNotExist.
func (l *Ledger) reopen(run string) (*runLog, []line, error) {
	file, err := os.OpenFile(l.runPath(run), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, err
	}
	log := &runLog{l.runPath(run), file}
	lines, err := log.lock(run)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return log, lines, nil
}

func (r *runLog) lock(run string) ([]line, error) {
	err := lockFile(r.file)
	if errors.Is(err, errLocked) {
		return nil, r.lockedError(run)
	}
	if err != nil {
		return nil, err
	}
	here, err := r.file.Stat()
	if err != nil {
		return nil, err
	}
	if there, err := os.Stat(r.path); err != nil || !os.SameFile(here, there) {
		return nil, fs.ErrNotExist // its holder closed the run just now
	}
	return readLines(r.file)
}

// lockedError names who wrote last that it works on the run.
func (r *runLog) lockedError(run string) error {
	e := &LockedError{Run: run}
	lines, _ := readLines(r.file) // a line half written does not matter here
	for _, l := range lines {
		if l.What == lineRun || l.What == lineResumed {
			e.Host, e.PID, e.Since = l.Host, l.PID, l.Time
		}
	}
	return e
}

// write adds lines in one piece. What has been written outlives this process,
// not the machine; see sync.
func (r *runLog) write(lines ...line) error {
	text, err := jsonLines(lines)
	if err != nil {
		return err
	}
	if torn, err := endsTorn(r.file); err != nil {
		return err
	} else if torn {
		text = append([]byte("\n"), text...)
	}
	_, err = r.file.Write(text)
	return err
}

func (r *runLog) sync() error { return r.file.Sync() }

// release lets other processes work on the run.
func (r *runLog) release() error { return r.file.Close() }

// remove ends the log. Its name goes before the lock does, and before the texts.
func (r *runLog) remove() error {
	return errors.Join(os.Remove(r.path), os.RemoveAll(r.stagedDir()), r.file.Close())
}

// jsonLines writes values as JSON, one a line.
func jsonLines[T any](values []T) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// eachLine hands the whole lines of a text to take. A last one without its end was torn
// by a crash and is passed over.
func eachLine(from io.Reader, take func(text []byte)) error {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(text)
	}
}

// readLines reads a run's log. Lines that a crash has torn are passed over: an
// outcome that is not known is looked up, and intents are counted.
func readLines(from io.Reader) (lines []line, err error) {
	err = eachLine(from, func(text []byte) {
		var l line
		if json.Unmarshal(text, &l) == nil && l.What != "" {
			lines = append(lines, l)
		}
	})
	return lines, err
}

// openRuns returns the names of the runs that have a log, oldest first.
func (l *Ledger) openRuns() ([]string, error) {
	entries, err := os.ReadDir(l.openDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type aged struct {
		name string
		at   time.Time
	}
	var runs []aged
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if info, err := e.Info(); ok && err == nil {
			runs = append(runs, aged{name, info.ModTime()})
		}
	}
	slices.SortFunc(runs, func(a, b aged) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	var names []string
	for _, r := range runs {
		names = append(names, r.name)
	}
	return names, nil
}

// peek reads a run's log without taking it.
func (l *Ledger) peek(run string) ([]line, error) {
	file, err := os.Open(l.runPath(run))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readLines(file)
}

package once

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/jsonlines"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/stable"
)

// The log of a run, <Ledger.Dir>/open/<run>.jsonl, exists while something of the run is open. Its
// first lines are the run with its target, and an intent for each job. They are written to
// <run>.jsonl.new, synced, and renamed before the first call. One line follows for each outcome.
// The lines are meant for people too.
//
// The following always holds, so that batchctl can recover from a crash at any moment:
// 1. No SubmitJob is sent whose intent is not on disk. A log whose name still ends in .new
//    belongs to a run that sent nothing.
// 2. An intent without an outcome may or may not have been sent. batchctl searches for it at the
//    service before it sends it again.
// 3. The log is removed only after its accepted jobs are in submissions.jsonl and their
//    dependencies in runs.jsonl, on disk. A job in both files counts once.
// 4. A failed job with rungs is decided on once: its line "climbed" has every job that follows, and
//    is on disk before the first of them is sent. A line that was not written completely was not
//    acted on.
// 5. A job that waits in the client is sent only after its line "due" is on disk. Without that
//    line it has not been sent.
//
// Texts that have to be staged are in <run>.staged next to the log. They are written after the log
// is created and before its first lines, and removed after the log.
//
// Outcomes are synced when the run is closed. A power failure can remove one, which leaves an
// intent without an outcome: see 2.
//
// Each line has a checksum (lines.go). A damaged line among the first ones is a *RunDamageError,
// and batchctl sends nothing of the run: the request is lost, and may have been accepted. A damaged
// outcome counts as missing. Damage may also have removed outcomes without a trace, so batchctl
// searches for every job of such a run and checks it for duplicates.

// What a line of a run's log records.
const (
	lineRun       = "run"      // the first line: where to, and how many intents follow
	lineResumed   = "resumed"  // another process continues
	lineIntent    = "intent"   // a job that will be submitted
	lineUnclear   = "unclear"  // it was sent, without a clear answer
	lineAccepted  = "accepted" // it has an id
	lineRefused   = "refused"  // it was certainly not accepted
	lineChecked   = "checked"  // no duplicate can appear any more
	lineDuplicate = "twin"     // its duplicate ID is about to be stopped
	lineDropped   = "dropped"  // the user gave it up
	lineDue       = "due"      // its dependencies in the client have ended: it is about to be sent
	lineSkipped   = "skipped"  // the job is not needed
	lineResource  = "resource" // a consumable resource of the run is about to be created
	lineStopping  = "stopping" // a rejection: the accepted jobs are stopped, the rest is given up
	lineClimbed   = "climbed"  // it FAILED: what its rungs decide, with the jobs that are about to be sent
	lineMoved     = "moved"    // a climbed job of which a step goes to another target; older versions refuse the log
	lineCancelled = "cancel"   // it has no capacity and is about to be cancelled
	lineNotified  = "notified" // a message about its end was sent, or given up
)

// knownLines are all lines that this version can act on.
var knownLines = []string{lineRun, lineResumed, lineIntent, lineUnclear, lineAccepted, lineRefused, lineChecked, lineDuplicate, lineDropped, lineDue, lineSkipped,
	lineResource, lineStopping, lineClimbed, lineMoved, lineCancelled, lineNotified}

// line is a line of a run's log. Its What determines which members are set.
type line struct {
	Time time.Time `json:"time"`
	What string    `json:"what"`

	// Of the run and the process that works on it. Name is the workflow's name.
	Run      string `json:"run,omitempty"`
	Target   string `json:"target,omitempty"`
	Host     string `json:"host,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Jobs     int    `json:"jobs,omitempty"`
	Attached bool   `json:"attached,omitempty"`
	// Batchctl is the version of that process; "" in logs of older versions.
	Batchctl string `json:"batchctl,omitempty"`
	// Format is LogFormat; 0 in logs of older versions.
	Format        int  `json:"format,omitempty"`
	StopOnFailure bool `json:"stopOnFailure,omitempty"`

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

	// Of a failed job: the intents of the jobs that run it again. Each of those has its Step.
	Steps []line       `json:"steps,omitempty"`
	Step  *ladder.Step `json:"step,omitempty"`
	// At is the name of the target of such a job if it is not that of the run; Target is then its
	// account and Region.
	At string `json:"at,omitempty"`
	// Notify are the receivers of messages about the end of a job.
	Notify []string `json:"notify,omitempty"`

	// Of a job whose children share a consumable resource, and of the resource.
	Resource    string `json:"resource,omitempty"`
	MaxParallel int    `json:"maxParallel,omitempty"`
}

// edge is a dependency on a job of the same run.
type edge struct {
	Job  int    `json:"job"` // index in the run's intents, from 0
	Type string `json:"type,omitempty"`
}

// LogFormat is the version of the logs of unfinished runs, in which each line has a checksum. Logs of version 1 have
// neither a format nor checksums.
const LogFormat = 2

// LockedError reports that another process works on a submission.
type LockedError struct {
	Run, Host string
	PID       int
	Since     time.Time
}

// Error names the process.
func (e *LockedError) Error() string {
	return fmt.Sprintf("run %s is in use by process %d on %s since %s; wait for that process, or end it",
		e.Run, e.PID, e.Host, e.Since.Local().Format(time.DateTime))
}

// errLocked is the error of lockFile for a locked file.
var errLocked = errors.New("locked by another process")

// runLog is a run's log, locked by this process.
type runLog struct {
	path string
	file *os.File
}

// openDir returns the directory of the logs.
func (l *Ledger) openDir() string { return filepath.Join(l.Dir, "open") }

const (
	logSuffix = ".jsonl"
	newSuffix = logSuffix + ".new"
)

// runPath returns the log of a run.
func (l *Ledger) runPath(run string) string { return filepath.Join(l.openDir(), run+logSuffix) }

// newPath is where a run's log is until its intents are on the disk.
func (l *Ledger) newPath(run string) string { return filepath.Join(l.openDir(), run+newSuffix) }

// begin writes the texts that a new run stages and its first lines, and returns when they are on
// disk.
func (l *Ledger) begin(run string, texts []staged, lines []line) (*runLog, error) {
	if err := makeDir(l.openDir()); err != nil {
		return nil, err
	}
	l.sweepStaged()
	file, err := os.OpenFile(l.newPath(run), os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	log := &runLog{l.newPath(run), file}
	err = lockFile(file)
	if err == nil {
		err = log.keepStaged(texts)
	}
	if err == nil {
		err = log.write(lines...)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = log.rename(l.runPath(run))
	}
	if err = cmp.Or(err, syncDir(l.openDir())); err != nil {
		return nil, errors.Join(err, log.remove())
	}
	return log, nil
}

// rename gives the log its final name.
func (r *runLog) rename(path string) error {
	if err := os.Rename(r.path, path); err != nil {
		return err
	}
	r.path = path
	return nil
}

// makeDir creates a directory and its parents, and returns when they are on disk.
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

// reopen locks a run that no process works on and returns the text of its log. The error is
// fs.ErrNotExist for a run that has been closed.
func (l *Ledger) reopen(run string) (*runLog, *logText, error) {
	path := l.runPath(run)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		path = l.newPath(run)
		file, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	}
	if err != nil {
		return nil, nil, err
	}
	log := &runLog{path, file}
	text, err := log.lock(run)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return log, text, nil
}

// lock locks the log and reads it. The file may have been renamed or removed before the lock.
func (r *runLog) lock(run string) (*logText, error) {
	err := lockFile(r.file)
	if errors.Is(err, errLocked) {
		return nil, r.lockedError(run)
	}
	if err != nil {
		return nil, err
	}
	own, err := r.file.Stat()
	if err != nil {
		return nil, err
	}
	if current, err := os.Stat(r.path); err != nil || !os.SameFile(own, current) {
		return nil, fs.ErrNotExist // its process has just closed the run, or has just begun it
	}
	return readLog(r.path, r.file)
}

// lockedError names the process that last recorded that it works on the run.
func (r *runLog) lockedError(run string) error {
	e := &LockedError{Run: run}
	text, err := readLog(r.path, r.file) // an incomplete line does not matter here
	if err != nil {
		return e
	}
	for _, l := range text.lines {
		if l.What == lineRun || l.What == lineResumed {
			e.Host, e.PID, e.Since = l.Host, l.PID, l.Time
		}
	}
	return e
}

// write appends lines in one write. They survive the end of this process, but not a power failure;
// see sync.
func (r *runLog) write(lines ...line) error {
	text, err := jsonLines(lines)
	if err != nil {
		return err
	}
	if torn, err := jsonlines.EndsTorn(r.file); err != nil {
		return err
	} else if torn {
		text = append([]byte("\n"), text...)
	}
	_, err = r.file.Write(text)
	return err
}

// sync returns when all lines are on disk.
func (r *runLog) sync() error { return r.file.Sync() }

// release lets other processes work on the run.
func (r *runLog) release() error { return r.file.Close() }

// remove deletes the log: first its name, then the lock, then the texts.
func (r *runLog) remove() error {
	return errors.Join(os.Remove(r.path), os.RemoveAll(r.stagedDir()), r.file.Close())
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
		name, ok := strings.CutSuffix(strings.TrimSuffix(e.Name(), newSuffix[len(logSuffix):]), logSuffix)
		if info, err := e.Info(); ok && err == nil {
			runs = append(runs, aged{name, info.ModTime()})
		}
	}
	stable.Sort(runs, func(a, b aged) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	var names []string
	for _, r := range runs {
		names = append(names, r.name)
	}
	return names, nil
}

// peek reads a run's log without locking it.
func (l *Ledger) peek(run string) (*logText, error) {
	path := l.runPath(run)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		path = l.newPath(run)
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readLog(path, file)
}

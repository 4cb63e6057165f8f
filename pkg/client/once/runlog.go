package once

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/jsonlines"
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

// LockedError reports that another process works on a submission.
type LockedError struct {
	Run, Host string
	PID       int
	Since     time.Time
}

// Error names the process.
func (e *LockedError) Error() string {
	return fmt.Sprintf("run %s has been in use by process %d on %s since %s; wait for that process, or stop it",
		e.Run, e.PID, e.Host, e.Since.Local().Format(time.DateTime))
}

// runLog is a run's log, locked by this process.
type runLog struct {
	path string
	file *os.File
}

// rename gives the log its final name.
func (r *runLog) rename(path string) error {
	if err := os.Rename(r.path, path); err != nil {
		return err
	}
	r.path = path
	return nil
}

// lock locks the log and reads it. The file may have been renamed or removed before the lock.
func (r *runLog) lock(name string) (*logText, error) {
	err := LockFile(r.file)
	if errors.Is(err, ErrLocked) {
		return nil, r.lockedError(name)
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
func (r *runLog) lockedError(name string) error {
	e := &LockedError{Run: name}
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

// stagedSuffix ends the name of the directory of a run's texts.
const stagedSuffix = ".staged"

// stagedDir returns the directory of the run's texts.
func (r *runLog) stagedDir() string {
	return strings.TrimSuffix(strings.TrimSuffix(r.path, newSuffix), logSuffix) + stagedSuffix
}

// keepStaged writes texts next to the log and returns when they are on disk.
func (r *runLog) keepStaged(texts []staged) error {
	if len(texts) == 0 {
		return nil
	}
	if err := makeDir(r.stagedDir()); err != nil {
		return err
	}
	for _, s := range texts {
		if err := writeOnce(filepath.Join(r.stagedDir(), s.SHA256), *s.text); err != nil {
			return err
		}
	}
	return syncDir(r.stagedDir())
}

// logDir is the directory with the logs of open runs, and with the texts that they stage.
type logDir string

// logs returns the directory of the logs.
func (l *Ledger) logs() logDir { return logDir(filepath.Join(l.Dir, "open")) }

// logPath returns the log of a run.
func (d logDir) logPath(name string) string { return filepath.Join(string(d), name+logSuffix) }

// newPath is where a run's log is until its intents are on the disk.
func (d logDir) newPath(name string) string { return filepath.Join(string(d), name+newSuffix) }

// begin writes the texts that a new run stages and its first lines, and returns when they are on
// disk.
func (d logDir) begin(name string, texts []staged, lines []line) (*runLog, error) {
	if err := makeDir(string(d)); err != nil {
		return nil, err
	}
	d.sweepStaged()
	file, err := os.OpenFile(d.newPath(name), os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	log := &runLog{d.newPath(name), file}
	err = LockFile(file)
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
		err = log.rename(d.logPath(name))
	}
	if err = cmp.Or(err, syncDir(string(d))); err != nil {
		return nil, errors.Join(err, log.remove())
	}
	return log, nil
}

// reopen locks a run that no process works on and returns the text of its log. The error is
// fs.ErrNotExist for a run that has been closed.
func (d logDir) reopen(name string) (*runLog, *logText, error) {
	path := d.logPath(name)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		path = d.newPath(name)
		file, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	}
	if err != nil {
		return nil, nil, err
	}
	log := &runLog{path, file}
	text, err := log.lock(name)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return log, text, nil
}

// runs returns the names of the runs that have a log, oldest first.
func (d logDir) runs() ([]string, error) {
	entries, err := os.ReadDir(string(d))
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
	var found []aged
	for _, e := range entries {
		name, ok := strings.CutSuffix(strings.TrimSuffix(e.Name(), newSuffix[len(logSuffix):]), logSuffix)
		if info, err := e.Info(); ok && err == nil {
			found = append(found, aged{name, info.ModTime()})
		}
	}
	slices.SortStableFunc(found, func(a, b aged) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	var names []string
	for _, r := range found {
		names = append(names, r.name)
	}
	return names, nil
}

// peek reads a run's log without locking it.
func (d logDir) peek(name string) (*logText, error) {
	path := d.logPath(name)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		path = d.newPath(name)
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readLog(path, file)
}

// sweepStaged removes texts whose log no longer exists, because of a crash. It ignores errors.
func (d logDir) sweepStaged() {
	entries, _ := os.ReadDir(string(d))
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), stagedSuffix)
		if ok && !exists(d.newPath(name)) && !exists(d.logPath(name)) {
			_ = os.RemoveAll(filepath.Join(string(d), e.Name()))
		}
	}
}

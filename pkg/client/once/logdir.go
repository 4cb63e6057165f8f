package once

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/stable"
)

// openDir returns the directory of the logs.
func (l *Ledger) openDir() string { return filepath.Join(l.Dir, "open") }

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

// sweepStaged removes texts whose log no longer exists, because of a crash. It ignores errors.
func (l *Ledger) sweepStaged() {
	entries, _ := os.ReadDir(l.openDir())
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), stagedSuffix)
		if ok && !exists(l.newPath(name)) && !exists(l.runPath(name)) {
			_ = os.RemoveAll(filepath.Join(l.openDir(), e.Name()))
		}
	}
}

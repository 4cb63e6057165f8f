package once

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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

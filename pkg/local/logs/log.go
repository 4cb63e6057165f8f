package logs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/text"
)

// Log is the output of an attempt. The command writes directly to the file, so no buffer of the
// engine can lose its last output. The times of the lines come from a second file, which records
// how long the log was at which time. A log over its limit is cut back every sampleEvery.
type Log struct {
	watch  *watch
	root   *os.Root
	stream string
	// File is what the command writes to.
	File  *os.File
	times *os.File // nil until the log has grown
	size  int64
	limit int64 // 0: none
	cut   bool  // the limit was reached
	last  string
}

// sampleEvery is how often the size of a log is checked, and so the accuracy of the times of its
// lines.
const sampleEvery = 250 * time.Millisecond

// watch samples the logs of all running attempts.
type watch struct {
	mu    sync.Mutex
	logs  map[*Log]bool
	timer *time.Timer // nil while no attempt runs
}

// add starts sampling a log.
func (w *watch) add(l *Log) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.logs == nil {
		w.logs = map[*Log]bool{}
	}
	w.logs[l] = true
	if w.timer == nil {
		w.timer = time.AfterFunc(sampleEvery, w.sample)
	}
}

// remove stops sampling a log.
func (w *watch) remove(l *Log) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.logs, l)
}

// sample samples all logs and sets the timer again.
func (w *watch) sample() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.logs {
		l.sample()
	}
	if w.timer = nil; len(w.logs) > 0 {
		w.timer = time.AfterFunc(sampleEvery, w.sample)
	}
}

// newFile are the flags for a file that must not exist and is only appended to.
const newFile = os.O_WRONLY | os.O_CREATE | os.O_EXCL | os.O_APPEND

// sample records the length of the log if it grew. Errors lose times, not lines.
func (l *Log) sample() {
	info, err := l.File.Stat()
	if err != nil || info.Size() == l.size {
		return
	}
	size := info.Size()
	if l.limit > 0 && size > l.limit {
		size = l.keepLimit()
	}
	if size == l.size {
		return
	}
	if l.times == nil {
		if l.times, err = l.root.OpenFile(timesFile(l.stream), newFile, 0o600); err != nil {
			return
		}
	}
	l.size = size
	_, _ = fmt.Fprintf(l.times, "%d %d\n", l.size, time.Now().UnixMilli())
}

// keepLimit cuts off the output after the limit and appends the notice. The command appends to the
// file, so its further output follows the notice, and the next call cuts that off too. keepLimit
// returns the length that is kept.
func (l *Log) keepLimit() int64 {
	notice := limitNotice(l.limit)
	end := l.limit + int64(len(notice))
	if !l.cut {
		// Not through l.file, which only appends.
		f, err := l.root.OpenFile(logFile(l.stream), os.O_WRONLY, 0)
		if err != nil {
			return l.size // the job has removed it
		}
		_, err = f.WriteAt([]byte(notice), l.limit)
		l.cut = errors.Join(err, f.Close()) == nil
	}
	_ = l.File.Truncate(end)
	return end
}

// limitNotice is the last line of a log that has reached its limit.
func limitNotice(limit int64) string {
	return "\nbatchctl: the log has reached its limit of " + text.ExactSize(limit) +
		"; the job continues, but batchctl does not keep the rest of its output\n"
}

// Close ends the watch. Output after the last sample needs no sample: its time is that of the file.
// So a short job costs one file, not two. Close reports whether the log was cut at its limit.
func (l *Log) Close() (cut bool) {
	l.watch.remove(l)
	if info, err := l.File.Stat(); err == nil && l.limit > 0 && info.Size() > l.limit {
		l.keepLimit()
	}
	if l.last != "" {
		l.writeLast()
	}
	_ = l.File.Close()
	if l.times != nil {
		_ = l.times.Close()
	}
	return l.cut
}

// End sets the last line of the log, which Close writes, also after the limit.
func (l *Log) End(line string) { l.last = line }

// writeLast writes the last line, on a line of its own. An error loses it, as it loses output.
func (l *Log) writeLast() {
	text := l.last + "\n"
	if f, err := l.root.Open(logFile(l.stream)); err == nil {
		end := make([]byte, 1)
		if info, err := f.Stat(); err == nil && info.Size() > 0 {
			if _, err := f.ReadAt(end, info.Size()-1); err == nil && end[0] != '\n' {
				text = "\n" + text
			}
		}
		_ = f.Close()
	}
	_, _ = l.File.WriteString(text)
}

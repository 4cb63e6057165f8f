package local

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// attemptLog is what an attempt writes to. The command writes straight to the file,
// so nothing of ours stands in its way or loses its last words; the times of the
// lines come from a second file, which notes how long the log was when.
type attemptLog struct {
	watch  *logWatch
	root   *os.Root
	stream string
	file   *os.File
	times  *os.File // nil until the log was seen to grow
	size   int64
}

// sampleEvery is how often the growth of a log is looked at, and so the accuracy
// of the times of its lines.
const sampleEvery = 250 * time.Millisecond

// logWatch looks at the logs of all attempts that run.
type logWatch struct {
	mu    sync.Mutex
	logs  map[*attemptLog]bool
	timer *time.Timer // nil while no attempt runs
}

func (w *logWatch) add(l *attemptLog) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.logs == nil {
		w.logs = map[*attemptLog]bool{}
	}
	w.logs[l] = true
	if w.timer == nil {
		w.timer = time.AfterFunc(sampleEvery, w.sample)
	}
}

// remove ends the watch of a log; it is not looked at after that.
func (w *logWatch) remove(l *attemptLog) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.logs, l)
}

func (w *logWatch) sample() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.logs {
		l.sample()
	}
	if w.timer = nil; len(w.logs) > 0 {
		w.timer = time.AfterFunc(sampleEvery, w.sample)
	}
}

const newFile = os.O_WRONLY | os.O_CREATE | os.O_EXCL | os.O_APPEND

func (e *Engine) openLog(ctx context.Context, t *task, stream string) (*attemptLog, error) {
	var file *os.File
	err := e.inTime(ctx, t, func() (err error) {
		file, err = e.root.OpenFile(logFile(stream), newFile, 0o600)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	l := &attemptLog{watch: &e.logs, root: e.root, stream: stream, file: file}
	e.logs.add(l)
	return l, nil
}

// sample notes the length of the log if it grew. Errors lose times, not lines.
func (l *attemptLog) sample() {
	info, err := l.file.Stat()
	if err != nil || info.Size() == l.size {
		return
	}
	if l.times == nil {
		if l.times, err = l.root.OpenFile(timesFile(l.stream), newFile, 0o600); err != nil {
			return
		}
	}
	l.size = info.Size()
	_, _ = fmt.Fprintf(l.times, "%d %d\n", l.size, time.Now().UnixMilli())
}

// close ends the watch. What came after the last sample needs none: it is as old
// as the file. So a short job costs one file, not two.
func (l *attemptLog) close() {
	l.watch.remove(l)
	_ = l.file.Close()
	if l.times != nil {
		_ = l.times.Close()
	}
}

package local

import (
	"fmt"
	"os"
	"time"
)

// attemptLog is what an attempt writes to. The command writes straight to the file,
// so nothing of ours stands in its way or loses its last words; the times of the
// lines come from a second file, which notes how long the log was when.
type attemptLog struct {
	root   *os.Root
	stream string
	file   *os.File
	times  *os.File // nil until the log was seen to grow
	size   int64
	stop   chan struct{}
	done   chan struct{}
}

// sampleEvery is how often the growth of a log is looked at, and so the accuracy
// of the times of its lines.
const sampleEvery = 250 * time.Millisecond

const newFile = os.O_WRONLY | os.O_CREATE | os.O_EXCL | os.O_APPEND

func (e *Engine) openLog(stream string) (*attemptLog, error) {
	file, err := e.root.OpenFile(logFile(stream), newFile, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	l := &attemptLog{root: e.root, stream: stream, file: file, stop: make(chan struct{}), done: make(chan struct{})}
	go l.watch()
	return l, nil
}

func (l *attemptLog) watch() {
	defer close(l.done)
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.sample()
		}
	}
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
	close(l.stop)
	<-l.done
	_ = l.file.Close()
	if l.times != nil {
		_ = l.times.Close()
	}
}

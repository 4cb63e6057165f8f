package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
)

// Store keeps the logs of attempts, and the events that clients put into other streams, in the directory
// logs of a state directory.
type Store struct {
	root  *os.Root
	limit int64 // bytes of a log; 0: none
	watch watch
	mu    sync.Mutex
	put   map[string]*putFile // by stream
}

// NewStore returns the store of a state directory. It keeps limit bytes of each log, and accepts about as
// many of the events that clients put into a stream; 0 or less means all.
func NewStore(root *os.Root, limit int64) *Store { return &Store{root: root, limit: max(limit, 0)} }

// Limit returns the limit of a log in bytes; 0: none.
func (s *Store) Limit() int64 { return s.limit }

// Create creates the log of an attempt that begins, or of one of its containers. The stream must be new.
func (s *Store) Create(stream string) (*Log, error) {
	file, err := s.root.OpenFile(logFile(stream), newFile, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	l := &Log{watch: &s.watch, root: s.root, stream: stream, File: file, limit: s.limit}
	s.watch.add(l)
	return l, nil
}

// Open opens a log for reading. stopped is when its attempt ended, in epoch milliseconds; 0: it is
// still writing, and its log may be about to be created. The error is fs.ErrNotExist for a log that
// does not exist.
func (s *Store) Open(id string, stopped int64) (*Stream, error) {
	live := stopped == 0
	file, err := s.root.Open(logFile(id))
	switch {
	case errors.Is(err, fs.ErrNotExist) && live:
		return &Stream{}, nil
	case err != nil:
		return nil, fmt.Errorf("open log: %w", err)
	}
	l := &Stream{file: file}
	if err := l.measure(live, stopped, s.limit); err != nil {
		l.Close()
		return nil, fmt.Errorf("read log: %w", err)
	}
	// Without the times the lines are still readable, with the time of the last write.
	if text, err := s.root.ReadFile(timesFile(id)); err == nil {
		l.times = parseSamples(text)
	}
	return l, nil
}

// Files returns the names of the files that the log of a stream has in the directory logs.
func Files(stream string) []string {
	return []string{path.Base(logFile(stream)), path.Base(timesFile(stream)), path.Base(eventsFile(stream))}
}

// logFile returns the name of a stream's log below the state directory.
func logFile(stream string) string { return "logs/" + stream + ".log" }

// timesFile returns the name of the file with the times of a log.
func timesFile(stream string) string { return "logs/" + stream + ".times" }

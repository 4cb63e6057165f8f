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

	emptyMu sync.Mutex // not mu, which is held while events are written
	below   *os.Root   // the directory logs; nil: not opened. A path from root would be opened part by part each time.
	empty   []string   // ended attempts whose files are empty and may become those of other attempts
}

// NewStore returns the store of a state directory. It keeps limit bytes of each log, and accepts about as
// many of the events that clients put into a stream; 0 or less means all.
func NewStore(root *os.Root, limit int64) *Store { return &Store{root: root, limit: max(limit, 0)} }

// Limit returns the limit of a log in bytes; 0: none.
func (s *Store) Limit() int64 { return s.limit }

// Create creates the log of an attempt that begins, or of one of its containers. The stream must be new.
//
// Most short commands print nothing. Their files are used again, since renaming a file costs less than creating one: on
// ext4, a new file costs as much as starting a process for minutes after many files were removed.
func (s *Store) Create(stream string) (*Log, error) {
	below, err := s.open()
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	file := s.reuse(below, stream)
	if file == nil {
		if file, err = below.OpenFile(path.Base(logFile(stream)), newFile, 0o600); err != nil {
			return nil, fmt.Errorf("create log: %w", err)
		}
	}
	l := &Log{store: s, root: s.root, stream: stream, File: file, limit: s.limit}
	s.watch.add(l)
	return l, nil
}

// open returns the directory of the logs.
func (s *Store) open() (below *os.Root, err error) {
	s.emptyMu.Lock()
	defer s.emptyMu.Unlock()
	if s.below == nil {
		s.below, err = s.root.OpenRoot("logs")
	}
	return s.below, err
}

// Close closes what is open. No attempt may be running.
func (s *Store) Close() error {
	s.emptyMu.Lock()
	defer s.emptyMu.Unlock()
	if s.below == nil {
		return nil
	}
	below := s.below
	s.below = nil
	return below.Close()
}

// keptEmpty is how many empty files are kept for other attempts. More would run at the same time only rarely.
const keptEmpty = 64

// keepEmpty keeps the file of an ended attempt for another one.
func (s *Store) keepEmpty(stream string) {
	s.emptyMu.Lock()
	defer s.emptyMu.Unlock()
	if len(s.empty) < keptEmpty {
		s.empty = append(s.empty, stream)
	}
}

// takeEmpty returns the attempt whose file has been empty for longest; "" if there is none.
func (s *Store) takeEmpty() (stream string) {
	s.emptyMu.Lock()
	defer s.emptyMu.Unlock()
	if len(s.empty) > 0 {
		stream, s.empty = s.empty[0], s.empty[1:]
	}
	return stream
}

// reuse makes the empty file of an ended attempt that of a new one. It returns nil if there is none, or if another
// program has the file open: its output would appear in the wrong log. A process that another attempt is just starting
// has it open for a moment, so the file is kept for a later attempt.
func (s *Store) reuse(below *os.Root, stream string) *os.File {
	from := s.takeEmpty()
	if from == "" {
		return nil
	}
	old, name := path.Base(logFile(from)), path.Base(logFile(stream))
	file, err := below.OpenFile(old, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil
	}
	switch {
	case !isUnchanged(file):
	case !isOpenOnce(file):
		s.keepEmpty(from)
	case below.Rename(old, name) == nil:
		return file
	}
	_ = file.Close()
	return nil
}

// Open opens a log for reading. stopped is when its attempt ended, in epoch milliseconds; 0: it is
// still writing, and its log may be about to be created. launched reports whether its command started:
// then the log exists, and is empty without a file. Otherwise the error is fs.ErrNotExist if there is none.
func (s *Store) Open(id string, stopped int64, launched bool) (*Stream, error) {
	live := stopped == 0
	file, err := s.root.Open(logFile(id))
	switch {
	case errors.Is(err, fs.ErrNotExist) && (live || launched):
		return &Stream{}, nil
	case err != nil:
		return nil, fmt.Errorf("open log: %w", err)
	}
	l := &Stream{file: file}
	if err := l.measure(live, stopped, s.limit); err != nil {
		l.Close()
		return nil, fmt.Errorf("read log: %w", err)
	}
	if l.End > 0 && !s.isNamed(id, file) {
		l.Close()
		return &Stream{}, nil // it was empty, and has become the file of another attempt
	}
	// Without the times the lines are still readable, with the time of the last write.
	if text, err := s.root.ReadFile(timesFile(id)); err == nil {
		l.times = parseSamples(text)
	}
	return l, nil
}

// isNamed reports whether a file still is the log of a stream. A file that is not empty stays with its stream.
func (s *Store) isNamed(id string, file *os.File) bool {
	named, err := s.root.Stat(logFile(id))
	opened, failed := file.Stat()
	return err == nil && failed == nil && os.SameFile(named, opened)
}

// Files returns the names of the files that the log of a stream has in the directory logs.
func Files(stream string) []string {
	return []string{path.Base(logFile(stream)), path.Base(timesFile(stream)), path.Base(eventsFile(stream))}
}

// logFile returns the name of a stream's log below the state directory.
func logFile(stream string) string { return "logs/" + stream + ".log" }

// timesFile returns the name of the file with the times of a log.
func timesFile(stream string) string { return "logs/" + stream + ".times" }

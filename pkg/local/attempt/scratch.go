package attempt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// Scratch gives every task without a working directory its own directory. Most tasks leave it
// empty, and then another task gets it: renaming a directory costs less than creating one, on ext4
// much less after many files were removed.
type Scratch struct {
	root *os.Root

	mu    sync.Mutex
	below *os.Root // the directory scratch; nil: not opened. A path from root would be opened part by part each time.
	empty []string // names of unused directories
}

// NewScratch returns the directories of a state directory, which has the directory scratch.
func NewScratch(root *os.Root) *Scratch { return &Scratch{root: root} }

// keptEmpty is how many empty directories are kept for other tasks.
const keptEmpty = 64

// open returns the directory of all tasks. The caller holds the lock.
func (s *Scratch) open() (below *os.Root, err error) {
	if s.below == nil {
		s.below, err = s.root.OpenRoot("scratch")
	}
	return s.below, err
}

// Close closes what is open. No attempt may be running.
func (s *Scratch) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.below == nil {
		return nil
	}
	below := s.below
	s.below = nil
	return below.Close()
}

// take returns the directory of a task, below the engine's; name is its DirectoryName. Another
// attempt of the same task finds the files of the last one.
func (s *Scratch) take(name string) (string, error) {
	dir := filepath.Join("scratch", name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.empty, name); i >= 0 { // an earlier attempt's
		s.empty = slices.Delete(s.empty, i, i+1)
		return dir, nil
	}
	below, err := s.open()
	if err != nil {
		return "", fmt.Errorf("create scratch directory: %w", err)
	}
	if n := len(s.empty); n > 0 {
		last := s.empty[n-1]
		s.empty = s.empty[:n-1]
		if below.Rename(last, name) == nil {
			return dir, nil
		}
	}
	if err := below.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("create scratch directory: %w", err)
	}
	return dir, nil
}

// leave releases a task's directory. A changed directory is not used again: the task may have
// changed its mode, or replaced it with a link.
func (s *Scratch) leave(dir string) {
	name := filepath.Base(dir)
	s.mu.Lock()
	below, err := s.open()
	s.mu.Unlock()
	if err != nil {
		return
	}
	if info, err := below.Lstat(name); err != nil || info.Mode() != fs.ModeDir|0o700 {
		return
	}
	f, err := below.Open(name)
	if err != nil {
		return // the task has removed it
	}
	defer f.Close()
	if _, err := f.Readdirnames(1); !errors.Is(err, io.EOF) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.empty) < keptEmpty {
		s.empty = append(s.empty, name)
	}
}

// clear removes the files of a task, whose machine is gone.
func (s *Scratch) clear(dir string) {
	if s.root.RemoveAll(dir) == nil {
		_ = s.root.Mkdir(dir, 0o700) // leave may reuse it; take creates a missing one
	}
}

// DirectoryName returns the task's id in a form that every file system accepts.
func DirectoryName(t *model.Task) string {
	if t.IsChild() {
		return t.Job.ID + "-" + strconv.Itoa(int(t.Index))
	}
	return t.Job.ID
}

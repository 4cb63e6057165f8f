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
	empty []string // unused directories
}

// NewScratch returns the directories of a state directory, which has the directory scratch.
func NewScratch(root *os.Root) *Scratch { return &Scratch{root: root} }

// keptEmpty is how many empty directories are kept for other tasks.
const keptEmpty = 64

// take returns the directory of a task, below the engine's; name is its DirectoryName. Another
// attempt of the same task finds the files of the last one.
func (s *Scratch) take(name string) (string, error) {
	dir := filepath.Join("scratch", name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.empty, dir); i >= 0 { // an earlier attempt's
		s.empty = slices.Delete(s.empty, i, i+1)
		return dir, nil
	}
	if n := len(s.empty); n > 0 {
		last := s.empty[n-1]
		s.empty = s.empty[:n-1]
		if s.root.Rename(last, dir) == nil {
			return dir, nil
		}
	}
	if err := s.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("create scratch directory: %w", err)
	}
	return dir, nil
}

// leave releases a task's directory. A changed directory is not used again: the task may have
// changed its mode, or replaced it with a link.
func (s *Scratch) leave(dir string) {
	if info, err := s.root.Lstat(dir); err != nil || info.Mode() != fs.ModeDir|0o700 {
		return
	}
	f, err := s.root.Open(dir)
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
		s.empty = append(s.empty, dir)
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

package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/batchctl/batchctl/pkg/checkpoint"
)

// snapshot is the state of the directory at one moment.
type snapshot struct {
	dir   string            // has its files; the directory itself if the file system has no hard links
	files []checkpoint.File // of the directory
	drop  func()            // removes it
}

// errWriting means that the directory changed.
var errWriting = errors.New("the program kept writing to the directory")

// freeze takes a snapshot of the files in a listing. It is a directory of hard links, so a program that replaces a
// file by renaming another one leaves the snapshot unchanged, however long the upload takes. The state existed at
// the moment between the last link and the first check: every path had the linked file both times.
func (k *Keeper) freeze(files []checkpoint.File) (*snapshot, error) {
	s := &snapshot{dir: filepath.Join(k.Dir, checkpoint.SnapshotName), files: files}
	s.drop = func() { _ = os.RemoveAll(s.dir) }
	s.drop() // of an earlier one
	err := s.link(k.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.drop()
		return nil, errWriting // the program has removed a file
	case err != nil:
		s.drop()
		s.dir, s.drop = k.Dir, func() {}
		return s, nil
	}
	now, err := checkpoint.List(os.DirFS(k.Dir))
	if err == nil && !checkpoint.Same(files, now) {
		err = errWriting
	}
	for i := 0; i < len(files) && err == nil; i++ {
		if files[i].Link == "" {
			err = s.isCurrent(k.Dir, files[i].Path)
		}
	}
	if err != nil {
		s.drop()
		return nil, err
	}
	return s, nil
}

// link links the files of the snapshot.
func (s *snapshot) link(from string) error {
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return err
	}
	for _, f := range s.files {
		if f.Link != "" {
			continue
		}
		to := filepath.Join(s.dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Link(filepath.Join(from, filepath.FromSlash(f.Path)), to); err != nil {
			return err
		}
	}
	return nil
}

// isCurrent checks that a path of the directory still has the linked file.
func (s *snapshot) isCurrent(dir, name string) error {
	linked, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	current, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(linked, current) {
		return errWriting
	}
	return err
}

// unchanged returns errWriting if a file of the snapshot was written in place, which its size and time show.
func (s *snapshot) unchanged() error {
	now, err := checkpoint.List(os.DirFS(s.dir))
	if err != nil {
		return fmt.Errorf("read the snapshot of the directory: %w", err)
	}
	isLink := func(f checkpoint.File) bool { return f.Link != "" }
	if !checkpoint.Same(slices.DeleteFunc(slices.Clone(s.files), isLink), slices.DeleteFunc(now, isLink)) {
		return errWriting
	}
	return nil
}

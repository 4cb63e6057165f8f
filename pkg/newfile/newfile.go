// Package newfile writes files completely or not at all. It writes to a device or a pipe in place.
package newfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/batchctl/batchctl/pkg/exit"
)

// File is an output file that the command line names. Begin it early, so that a file that cannot be
// written is reported before anything is sent. It replaces an older file only when it is complete.
type File struct {
	path string
	mode os.FileMode
	// out is a temporary file beside path, or path itself if nothing can replace it.
	out     *os.File
	inPlace bool
}

// Modes of a file: readable by everyone, or by its owner only if it contains what requests contain.
const (
	ForAll   os.FileMode = 0o644
	ForOwner os.FileMode = 0o600
)

// Begin begins a file. With "" it returns nil, which every method accepts.
func Begin(path string, mode os.FileMode) (*File, error) {
	if path == "" {
		return nil, nil
	}
	if exit.IsDirectory(path) {
		return nil, exit.Fail(exit.BadUsage, "%s is a directory", path).Try("name a file in that directory")
	}
	f := &File{path: path, mode: mode, inPlace: isOpenElsewhere(path)}
	var err error
	if f.inPlace {
		f.out, err = os.OpenFile(path, os.O_WRONLY, 0)
	} else {
		f.out, err = os.CreateTemp(filepath.Dir(path), ".batchctl-*")
	}
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "write %s: %v", path, exit.Cause(err)).
			Try("name another file, or create its directory")
	}
	return f, nil
}

// isOpenElsewhere reports whether other programs use what has this name: a device or a pipe, or a name of an open file
// such as /dev/stdout. Root could rename a new file to such a name, and every program would lose the old one.
func isOpenElsewhere(path string) bool {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return true
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return err == nil && (dir == "/dev" || dir == "/dev/fd" || strings.HasPrefix(dir, "/proc/"))
}

// Keep writes the file. One that is new or replaces another is then renamed to its path.
func (f *File) Keep(write func(io.Writer) error) error {
	if f == nil {
		return nil
	}
	err := write(f.out)
	if !f.inPlace {
		err = errors.Join(err, f.out.Chmod(f.mode))
	}
	if err = errors.Join(err, f.out.Close()); err == nil && !f.inPlace {
		err = os.Rename(f.out.Name(), f.path)
	}
	if err != nil {
		return exit.Fail(exit.NotDone, "write %s: %v", f.path, exit.Cause(err))
	}
	return nil
}

// Drop removes a file that was begun and not kept.
func (f *File) Drop() {
	if f != nil {
		_ = f.out.Close()
		if !f.inPlace {
			_ = os.Remove(f.out.Name())
		}
	}
}

// Bytes returns a function that writes b.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// Write writes a file, replacing an older one.
func Write(path string, mode os.FileMode, write func(io.Writer) error) error {
	f, err := Begin(path, mode)
	if err != nil {
		return err
	}
	defer f.Drop()
	return f.Keep(write)
}

// Package newfile writes files that are there whole or not at all.
package newfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/exit"
)

// File is a file that the command line names to be written. It is begun early, so
// that one that cannot be written is named before anything is sent, and takes the place
// of an older one only when it is whole.
type File struct {
	path string
	mode os.FileMode
	temp *os.File
}

// Who may read a file: everybody, as usual, or its owner, where it holds what requests
// hold.
const (
	ForAll   os.FileMode = 0o644
	ForOwner os.FileMode = 0o600
)

// Begin begins a file; "" is none, and every method takes that.
func Begin(path string, mode os.FileMode) (*File, error) {
	if path == "" {
		return nil, nil
	}
	if exit.IsDirectory(path) {
		return nil, exit.Fail(exit.BadUsage, "%s is a directory", path).Try("name a file in it")
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".batchctl-*")
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "write %s: %v", path, exit.Cause(err)).Try("name another file, or make its directory")
	}
	return &File{path, mode, temp}, nil
}

// Keep writes the file and gives it its name.
func (f *File) Keep(write func(io.Writer) error) error {
	if f == nil {
		return nil
	}
	err := write(f.temp)
	if err = errors.Join(err, f.temp.Chmod(f.mode), f.temp.Close()); err == nil {
		err = os.Rename(f.temp.Name(), f.path)
	}
	if err != nil {
		return exit.Fail(exit.NotDone, "write %s: %v", f.path, exit.Cause(err))
	}
	return nil
}

// Drop removes what was begun and not kept.
func (f *File) Drop() {
	if f != nil {
		_ = f.temp.Close()
		_ = os.Remove(f.temp.Name())
	}
}

// Bytes writes what is there already.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// Write writes a file in the place of an older one.
func Write(path string, mode os.FileMode, write func(io.Writer) error) error {
	f, err := Begin(path, mode)
	if err != nil {
		return err
	}
	defer f.Drop()
	return f.Keep(write)
}

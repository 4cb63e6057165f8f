// Package newfile writes files completely or not at all.
package newfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/exit"
)

// File is an output file that the command line names. Begin it early, so that a file that cannot be
// written is reported before anything is sent. It replaces an older file only when it is complete.
type File struct {
	path string
	mode os.FileMode
	temp *os.File
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
	temp, err := os.CreateTemp(filepath.Dir(path), ".batchctl-*")
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "write %s: %v", path, exit.Cause(err)).Try("name another file, or create its directory")
	}
	return &File{path, mode, temp}, nil
}

// Keep writes the file and renames it to its path.
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

// Drop removes a file that was begun and not kept.
func (f *File) Drop() {
	if f != nil {
		_ = f.temp.Close()
		_ = os.Remove(f.temp.Name())
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

package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// newFile is a file that the command line names to be written. It is begun early, so
// that one that cannot be written is named before anything is sent, and takes the place
// of an older one only when it is whole.
type newFile struct {
	path string
	mode os.FileMode
	temp *os.File
}

// Who may read a file: everybody, as usual, or its owner, where it holds what requests
// hold.
const (
	forAll   os.FileMode = 0o644
	forOwner os.FileMode = 0o600
)

// beginFile begins a file; "" is none, and every method takes that.
func beginFile(path string, mode os.FileMode) (*newFile, error) {
	if path == "" {
		return nil, nil
	}
	if isDirectory(path) {
		return nil, fail(ExitUsage, "%s is a directory", path).try("name a file in it")
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".batchctl-*")
	if err != nil {
		return nil, fail(ExitNotDone, "write %s: %v", path, cause(err)).try("name another file, or make its directory")
	}
	return &newFile{path, mode, temp}, nil
}

// keep writes the file and gives it its name.
func (f *newFile) keep(write func(io.Writer) error) error {
	if f == nil {
		return nil
	}
	err := write(f.temp)
	if err = errors.Join(err, f.temp.Chmod(f.mode), f.temp.Close()); err == nil {
		err = os.Rename(f.temp.Name(), f.path)
	}
	if err != nil {
		return fail(ExitNotDone, "write %s: %v", f.path, cause(err))
	}
	return nil
}

// drop removes what was begun and not kept.
func (f *newFile) drop() {
	if f != nil {
		_ = f.temp.Close()
		_ = os.Remove(f.temp.Name())
	}
}

// asText writes what is there already.
func asText(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// writeFile writes a file in the place of an older one.
func writeFile(path string, mode os.FileMode, write func(io.Writer) error) error {
	f, err := beginFile(path, mode)
	if err != nil {
		return err
	}
	defer f.drop()
	return f.keep(write)
}

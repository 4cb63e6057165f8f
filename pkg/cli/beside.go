package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/diag"
)

// beside reads the files that a job file names: tables and command lists. A job file
// may come from a stranger, and what is wrong with a table is shown with its line: so
// nothing is read that lies outside of the job file's directory and the working
// directory, links followed.
func beside(jobFile string) func(path string) (*diag.Source, error) {
	dir := "."
	if jobFile != "-" {
		dir = filepath.Dir(jobFile)
	}
	return func(path string) (*diag.Source, error) {
		name := path
		if !filepath.IsAbs(path) {
			name = filepath.Join(dir, path)
		}
		text, err := readWithin(name, dir, ".")
		if err != nil {
			return nil, err
		}
		return diag.NewSource(name, string(text)), nil
	}
}

var errOutside = errors.New("it lies outside of the job file's directory and of the working directory; copy it there")

// readWithin reads a regular file that lies in one of the directories.
func readWithin(name string, dirs ...string) ([]byte, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	refused := errOutside
	for _, dir := range dirs {
		text, err := readIn(dir, absolute)
		if err == nil || !errors.Is(err, errOutside) {
			return text, err
		}
	}
	return nil, refused
}

// readIn reads a file in a directory, or says that it lies outside.
func readIn(dir, absolute string) ([]byte, error) {
	base, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(base, absolute)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, errOutside
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(inside)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, cause(err)
	case err != nil:
		return nil, escaped(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() >= maxFile:
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read", info.Size(), maxFile-1)
	}
	file, err := root.Open(inside)
	if err != nil {
		return nil, escaped(err)
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// escaped tells a link that leads outside, for which os.Root has no error of its own,
// from what the system refused.
func escaped(err error) error {
	var refused interface{ Timeout() bool } // a system call's
	if errors.As(cause(err), &refused) {
		return cause(err)
	}
	return errOutside
}

package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
)

// maxBeside bounds the files that a document names: a table of a million cells is
// smaller.
const maxBeside = 128 << 20

// Beside returns the function that Options.Read wants for a document of that name:
// it reads a file by its path relative to the document's directory, or to the
// working directory for "-" and other texts that are no files. The source is named
// by the path that leads there. An error is a sentence without that name, and where
// a file of nearly that name lies there it carries the hint.
func Beside(document string) func(path string) (*diag.Source, error) {
	return func(path string) (*diag.Source, error) {
		name := beside(document, filepath.FromSlash(path))
		text, err := readRegular(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, unitError{"there is no such file", nearFile(path, name)}
		}
		if err != nil {
			return nil, err
		}
		return diag.NewSource(name, text), nil
	}
}

// readRegular reads a file that has an end.
func readRegular(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", cause(err)
	case info.IsDir():
		return "", errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return "", errors.New("it is no regular file")
	case info.Size() > maxBeside:
		return "", fmt.Errorf("it has more than %d MiB", maxBeside>>20)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", cause(err)
	}
	defer f.Close()
	var b strings.Builder
	b.Grow(int(info.Size()))
	_, err = io.Copy(&b, io.LimitReader(f, maxBeside))
	return b.String(), cause(err)
}

// cause is the error without the operation and the path, which the message has.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// nearFile is the hint for a file that is not there: the one that was meant, as it
// would be written.
func nearFile(path, name string) string {
	entries, _ := os.ReadDir(filepath.Dir(name)) // a directory that cannot be read has no near files
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	near := diag.Near(filepath.Base(name), slices.Values(names))
	if near == "" {
		return "a path is relative to the directory of this file"
	}
	return fmt.Sprintf("write %q", path[:len(path)-len(filepath.Base(name))]+near)
}

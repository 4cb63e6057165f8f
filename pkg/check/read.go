package check

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

// MaxFile is the number of bytes that are read of a file: one more than the parser
// accepts, so that it reports a longer text.
const MaxFile = 16<<20 + 1

// ErrDirectory is the cause of a ReadError for a directory.
var ErrDirectory = errors.New("is a directory")

// ReadError reports a file that cannot be read.
type ReadError struct {
	// Path is the file as it was named.
	Path string
	// Err is the cause, without the path: ErrDirectory, or an error of the file system.
	Err error
	// Platform reports whether the file was read as a platform file.
	Platform bool
}

// Error names the file and the cause.
func (e *ReadError) Error() string {
	if e.Err == ErrDirectory {
		return e.Path + " is a directory"
	}
	return fmt.Sprintf("read %s: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Near returns the path of a JSON file with a similar name in the directory of a missing
// file; "" for none.
func (e *ReadError) Near() string {
	if !errors.Is(e.Err, fs.ErrNotExist) {
		return ""
	}
	dir, base := filepath.Split(e.Path)
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil {
		return ""
	}
	var names []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".json") && entry.Name() != base { // a dangling link resembles itself
			names = append(names, entry.Name())
		}
	}
	if near := diag.Near(base, slices.Values(names)); near != "" {
		return dir + near
	}
	return ""
}

// ReadFile returns the text of a file. The error is a *ReadError.
func ReadFile(path string) (*diag.Source, error) {
	text, err := AppendFile(nil, path)
	if err != nil {
		return nil, err
	}
	return diag.NewSource(path, string(text)), nil
}

// AppendFile appends the text of a file, at most MaxFile bytes, to buf. The error is a *ReadError.
func AppendFile(buf []byte, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return buf, readError(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return buf, &ReadError{Path: path, Err: ErrDirectory}
	}
	if err == nil {
		buf = slices.Grow(buf, int(min(info.Size(), MaxFile))+1)
	}
	for len(buf) < MaxFile {
		n, err := f.Read(buf[len(buf):min(cap(buf), MaxFile)])
		buf = buf[:len(buf)+n]
		switch {
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, readError(path, err)
		case len(buf) == cap(buf):
			buf = slices.Grow(buf, len(buf))
		}
	}
	return buf, nil
}

// readError returns the error for a path, without the operation and the path of
// fs.PathError.
func readError(path string, err error) *ReadError {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return &ReadError{Path: path, Err: err}
}

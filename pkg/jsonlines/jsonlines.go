// Package jsonlines appends to files with a JSON text on each line, which several processes can write at once.
package jsonlines

import (
	"errors"
	"io"
	"os"
)

// Append writes complete lines with one write, and returns when they are on disk. It begins on a new line even after
// one that a crash cut off. It creates the file with mode 0600.
func Append(path string, text []byte) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if torn, err := EndsTorn(f); err != nil {
		return err
	} else if torn {
		text = append([]byte("\n"), text...)
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}

// EndsTorn reports whether the file's last line lacks its line end.
func EndsTorn(f *os.File) (bool, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, size-1)
	return last[0] != '\n', err
}

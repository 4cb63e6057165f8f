package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// fileSender appends lines to a file.
type fileSender struct {
	path  string
	state *os.Root // the state directory, which must not contain the file
	file  *os.File // nil: closed
	info  fs.FileInfo
	// torn means that the file may end in the middle of a line.
	torn bool
}

// open opens the file, or creates it with mode 0600. Another user must have no part in it: events contain the
// environment of jobs, and a link could lead to another file of this user.
func (f *fileSender) open() (err error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	if err := checkDirectories(dir, f.state); err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.Base(f.path))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|openFlags, 0o600)
	if err != nil {
		if info, other := os.Lstat(path); other == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		return err
	}
	info, err := file.Stat()
	if err == nil {
		err = checkFile(path, info)
	}
	if err == nil {
		f.torn, err = endsInLine(file, info.Size())
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.info = file, info
	return nil
}

// endsInLine reports whether the last line of a file is incomplete: an engine was killed while it wrote.
func endsInLine(file io.ReaderAt, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	last := make([]byte, 1)
	_, err := file.ReadAt(last, size-1)
	return last[0] != '\n', err
}

// send appends the lines. A file that was renamed or removed is created again, so logrotate works.
func (f *fileSender) send(_ context.Context, lines [][]byte) (int, error) {
	if f.file != nil {
		if info, err := os.Lstat(f.path); err != nil || !os.SameFile(info, f.info) {
			// What was acknowledged must be on disk before the file is out of reach.
			if err := f.file.Sync(); err != nil {
				return 0, err
			}
			f.close()
		}
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return 0, err
		}
	}
	text := bytes.Join(lines, nil)
	if f.torn {
		if _, err := f.file.Write([]byte("\n")); err != nil {
			return 0, err
		}
		f.torn = false // the incomplete line stays: a consumer may have read it
	}
	n, err := f.file.Write(text)
	if n > 0 {
		f.torn = text[n-1] != '\n'
	}
	// A full disk may have taken some of the lines.
	return bytes.Count(text[:n], []byte("\n")), err
}

func (f *fileSender) sync() error {
	if f.file == nil {
		return nil
	}
	return f.file.Sync()
}

func (f *fileSender) close() {
	if f.file != nil {
		_ = f.file.Close() // everything that was acknowledged was synced
		f.file = nil
	}
}

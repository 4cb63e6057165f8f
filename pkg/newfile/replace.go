package newfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Why a file was not replaced.
var (
	ErrChanged  = errors.New("the file has changed since it was read")
	ErrReadOnly = errors.New("the file is read-only")
)

// Replace replaces the text of a file in one step: neither a full disk nor Ctrl-C leaves half of
// it. The file keeps its mode and, where the system allows that, its owner; a link stays a link.
// old is the text that the caller read: if the file has another text now, it stays unchanged and
// the error is ErrChanged. links is the number of hard links of the file; the others keep the old
// text.
func Replace(path, old, text string) (links uint64, err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if err := mayWrite(path, info); err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".batchctl-*")
	if err != nil {
		return 0, err
	}
	_, err = f.WriteString(text)
	links = keepOwner(f, info) // before the mode, which a new owner can change
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
	if err == nil {
		err = unchanged(path, old)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return links, err
}

// mayWrite checks the file itself: its directory alone would allow replacing a write-protected
// file.
func mayWrite(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return ErrReadOnly // root could write it anyway
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// unchanged returns an error if the file has another text now.
func unchanged(path, text string) error {
	now, err := os.ReadFile(path)
	if err == nil && string(now) != text {
		err = ErrChanged
	}
	return err
}

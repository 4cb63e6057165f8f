package target

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// ownProgram creates the directory below the engine's state in which jobs that run as processes
// find batchctl under its own name, whatever this program is called. An image has it in its PATH.
// It returns "" if this program cannot be found.
func ownProgram(stateDir string) (bin string, err error) {
	path, err := os.Executable()
	if err != nil || runtime.GOOS == "windows" {
		return "", nil // jobs that need it report that
	}
	bin = filepath.Join(stateDir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return "", err
	}
	link := filepath.Join(bin, "batchctl")
	if program, err := os.Readlink(link); err == nil && program == path && !isTemporary(path) {
		return bin, nil
	}
	made, err := os.MkdirTemp(bin, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	once := filepath.Join(made, "batchctl")
	if isTemporary(path) {
		err = keepProgram(path, once)
	} else {
		err = os.Symlink(path, once)
	}
	if err == nil {
		err = os.Rename(once, link)
	}
	return bin, err
}

// isTemporary reports whether a program is removed while a background engine still needs it: go run
// removes what it built.
func isTemporary(path string) bool { return strings.Contains(filepath.ToSlash(path), "/go-build") }

// keepProgram creates a hard link to a program, or a copy where that is not possible.
func keepProgram(path, to string) error {
	if os.Link(path, to) == nil {
		return nil
	}
	in, err := os.Open(self())
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

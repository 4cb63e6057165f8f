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

// ownProgram makes the directory below the engine's state in which jobs that run as
// processes find batchctl under its own name, whatever this program is called and
// wherever it lies; an image has it in its PATH. "": this program cannot be found.
func ownProgram(stateDir string) (bin string, err error) {
	path, err := os.Executable()
	if err != nil || runtime.GOOS == "windows" {
		return "", nil // jobs that need it say so
	}
	bin = filepath.Join(stateDir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return "", err
	}
	place := filepath.Join(bin, "batchctl")
	if there, err := os.Readlink(place); err == nil && there == path && !isTemporary(path) {
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
		err = os.Rename(once, place)
	}
	return bin, err
}

// isTemporary reports whether a program goes away while an engine in the background
// still needs it: go run removes what it built.
func isTemporary(path string) bool { return strings.Contains(filepath.ToSlash(path), "/go-build") }

// keepProgram makes a second name for a program, or a copy where that is not possible.
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

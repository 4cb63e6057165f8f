package author

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
)

// rewrite replaces the text of a file that was read, as a whole: neither a full disk nor
// Ctrl-C leaves half of it. The file keeps its mode and, where that is allowed, its owner;
// a link stays a link. What another program has written in the meantime stays.
func rewrite(con *term.Console, src *diag.Source, text string) error {
	links, err := replaceText(src, text)
	switch {
	case errors.Is(err, errChanged):
		return exit.Fail(exit.NotDone, "write %s: %v", src.Name, err).Try("run the command again: it reads the new text")
	case errors.Is(err, errReadOnly):
		return exit.Fail(exit.NotDone, "write %s: %v", src.Name, err).Try("allow writing first, such as with chmod u+w")
	case err != nil:
		return exit.Fail(exit.NotDone, "write %s: %v", src.Name, exit.Cause(err)).Try("the file is unchanged")
	case links > 1:
		fmt.Fprintf(con.Err, "note: %s has other hard links, and they keep the old text\n", diag.Printable(src.Name))
	}
	return nil
}

var (
	errChanged  = errors.New("the file has changed since it was read")
	errReadOnly = errors.New("the file is read-only")
)

// replaceText does what rewrite promises, and returns how many names the file had.
func replaceText(src *diag.Source, text string) (links uint64, err error) {
	path, err := filepath.EvalSymlinks(src.Name)
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
		err = unchanged(path, src.Text)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return links, err
}

// mayWrite asks the file itself: its directory alone would allow the replacement of a file
// that is write-protected.
func mayWrite(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o222 == 0 {
		return errReadOnly // root may write all the same
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// unchanged returns an error if the file holds another text now.
func unchanged(path, text string) error {
	now, err := os.ReadFile(path)
	if err == nil && string(now) != text {
		err = errChanged
	}
	return err
}

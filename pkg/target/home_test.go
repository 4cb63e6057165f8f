package target

import (
	"errors"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/term"
)

func TestHomeDirectoryWithoutHOME(t *testing.T) {
	u, err := user.Current()
	if err != nil || u.HomeDir == "" {
		t.Skipf("this user has no home directory: %v", err)
	}
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", "")
	if got, err := homeDirectory(); got != u.HomeDir || err != nil {
		t.Errorf("without HOME the home directory is %q, %v; want %q of the user's entry", got, err, u.HomeDir)
	}
}

// TestTemporaryDir: the directory of a user without a home directory has to be the user's own, because other users can
// create one of that name.
func TestTemporaryDir(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := temporaryDir()
	if dir == "" {
		t.Skip("this system has no user ids")
	}
	con := &term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}}
	if err := CheckStateDir(con, dir, ToChange); err != nil {
		t.Errorf("before it exists: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := CheckStateDir(con, dir, ToChange); err != nil {
		t.Errorf("the user's own: %v", err)
	}
	if os.Geteuid() != 0 {
		return // only root can give it to another user
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := CheckStateDir(con, dir, ToRead); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("another user's: %v", err)
	}
}

// TestReplacedStateDir has a directory that another user put in the place of the state directory, in a parent that
// everybody can change.
func TestReplacedStateDir(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	open := filepath.Join(t.TempDir(), "open")
	dir := filepath.Join(open, "state")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	con := &term.Console{Streams: term.Streams{Out: io.Discard, Err: &notes}}
	if err := CheckStateDir(con, dir, ToChange); err != nil || !strings.Contains(notes.String(), "warning: other users can move the state directory") {
		t.Errorf("%v: %s", err, notes.String())
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	for _, why := range []Need{ToRead, ToChange} {
		if err := CheckStateDir(con, dir, why); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("another user's: %v", err)
		}
	}
}

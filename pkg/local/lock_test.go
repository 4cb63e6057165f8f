//go:build unix

package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// TestLockOfTheDead checks the wait for the lock of a killed engine: a process that it was
// starting holds the lock until it executes its command. Open does not wait for a live engine.
func TestLockOfTheDead(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		pid  int
		ask  bool // the lock belongs to a client that only checks for an engine
		let  bool // the lock is released in time
		want bool
	}{
		{"it lives", os.Getpid(), false, false, false},
		{"gone, and let go", dead.Process.Pid, false, true, true},
		{"gone, and held indefinitely", dead.Process.Pid, false, false, false},
		{"asked for", os.Getpid(), true, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			held, err := os.Create(filepath.Join(dir, "lock"))
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			if _, err := fmt.Fprintln(held, test.pid); err != nil {
				t.Fatal(err)
			}
			lock := lockFile
			if test.ask {
				lock = func(f *os.File) error { return flock(f, unix.LOCK_SH) }
			}
			if err := lock(held); err != nil {
				t.Fatal(err)
			}
			if held, err := isHeld(root); err != nil || held == test.ask {
				t.Errorf("isHeld = %v, %v", held, err)
			}
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				if test.let {
					time.AfterFunc(time.Second, func() { held.Close() })
				}
				lock, err := lockDirectory(root)
				if (err == nil) != test.want {
					t.Errorf("got %v", err)
				}
				var locked *LockedError
				if err != nil && (!errors.As(err, &locked) || locked.PID != test.pid) {
					t.Errorf("got %v", err)
				}
				waited := time.Since(start)
				if most := 2 * deathTime; waited > most || (!test.let && test.pid == os.Getpid() && waited > 0) {
					t.Errorf("it took %v", waited)
				}
				if lock != nil {
					lock.Close()
				}
			})
		})
	}
}

// TestStateOfOthers checks that the engine opens only a directory of its own user: a user who can
// write the journal can run commands.
func TestStateOfOthers(t *testing.T) {
	for _, c := range []struct {
		owner int
		mode  os.FileMode
		want  string
	}{
		{os.Geteuid(), 0o700, ""},
		{os.Geteuid(), 0o750, "has mode 0750"},
		{os.Geteuid() + 1, 0o700, "belongs to user 1"},
	} {
		dir := t.TempDir()
		if err := errors.Join(os.Chown(dir, c.owner, -1), os.Chmod(dir, c.mode)); errors.Is(err, os.ErrPermission) {
			t.Log("not tried: only root gives directories away")
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := Connect(dir); c.want != "" && !strings.Contains(err.Error(), c.want) {
			t.Errorf("user %d, mode %o: connect: %v, want %q", c.owner, c.mode, err, c.want)
		}
		e, err := Open(Options{Dir: dir})
		if err == nil {
			err = e.Close(t.Context())
		} else if c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("user %d, mode %o: %v, want %q", c.owner, c.mode, err, c.want)
		}
		if err == nil && c.want != "" {
			t.Errorf("user %d, mode %o: it was opened", c.owner, c.mode)
		}
	}
}

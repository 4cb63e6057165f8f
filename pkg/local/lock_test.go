//go:build unix

package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// The lock of an engine that was killed while it started a command is held by that
// process until it has become the command. An engine that lives is not waited for.
func TestLockOfTheDead(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		pid  int
		let  bool // the lock is let go in time
		want bool
	}{
		{"it lives", os.Getpid(), false, false},
		{"gone, and let go", gone.Process.Pid, true, true},
		{"gone, and held for ever", gone.Process.Pid, false, false},
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
			if err := lockFile(held); err != nil {
				t.Fatal(err)
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
				if most := 2 * deathTime; waited > most || (test.pid == os.Getpid() && waited > 0) {
					t.Errorf("it took %v", waited)
				}
				if lock != nil {
					lock.Close()
				}
			})
		})
	}
}

package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/batchctl/batchctl/pkg/local/process/scan"
)

// TestEndCgroupGivesUp checks that a directory that this user cannot remove, such as a group that root's engine left,
// holds no job up. A file stands for it here: root may remove everything else.
func TestEndCgroupGivesUp(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := endCgroup(dir)
		if waited := time.Since(began); !errors.Is(err, unix.ENOTEMPTY) || waited != 0 {
			t.Errorf("%v after %v, want %v at once", err, waited, unix.ENOTEMPTY)
		}
	})
}

// TestClearLeavesExitCode checks Clear on an attempt whose first process Run still waits for: Run
// gets the exit code.
func TestClearLeavesExitCode(t *testing.T) {
	id := uniqueID(t)
	trees := newMarks()
	var cmd *exec.Cmd
	_, err := trees.start(id, func(attr *syscall.SysProcAttr) (int, error) {
		cmd = exec.Command("sleep", "1000")
		cmd.SysProcAttr, cmd.Env = attr, append(os.Environ(), attemptVariable+id)
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for !scan.HasEnded(cmd.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	if err := trees.clear(id, ""); err != nil {
		t.Error(err)
	}
	err = cmd.Wait()
	if exit, err := exitCode(cmd.ProcessState, err); exit != 137 || err != nil {
		t.Errorf("exit code %d, %v; want 137", exit, err)
	}
}

package process

import (
	"github.com/batchctl/batchctl/pkg/local/process/scan"

	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestClearLeavesExitCode checks Clear on an attempt whose first process Run still waits for: Run
// gets the exit code.
func TestClearLeavesExitCode(t *testing.T) {
	const id = "clear-leaves-exit-code"
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

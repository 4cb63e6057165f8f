//go:build unix

package local

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// TestVictim is not a test of its own: TestKilledEngine runs it in a process of
// its own, to kill that.
func TestVictim(t *testing.T) {
	dir := os.Getenv("BATCHCTL_TEST_VICTIM")
	if dir == "" {
		t.Skip("runs only inside TestKilledEngine")
	}
	w := open(t, Options{Dir: filepath.Join(dir, "state"), Executor: process{}})
	w.Client = batch.NewFromConfig(w.engine.Config(dir))
	w.register("work", "1", "64", func(in *batch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = []string{"sh", "-c", "echo $AWS_BATCH_JOB_ID > id; echo $$ > pid.new; mv pid.new pid; exec sleep 1000"}
	})
	id := w.submit("work")
	for w.job(id).Status != types.JobStatusRunning {
		w.change()
	}
	// The engine can find the process again from here on.
	if err := os.WriteFile(filepath.Join(dir, "recorded"), []byte("yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.idle()
}

// change waits a moment for the engine's next change.
func (w *world) change() {
	w.engine.mu.Lock()
	changed := w.engine.changed
	w.engine.mu.Unlock()
	select {
	case <-changed:
	case <-time.After(10 * time.Millisecond): // it may have been before we looked
	}
}

func TestKilledEngine(t *testing.T) {
	dir := t.TempDir()
	victim := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	victim.Env = append(os.Environ(), "BATCHCTL_TEST_VICTIM="+dir)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(appears(t, filepath.Join(dir, "pid")))
	if err != nil {
		t.Fatal(err)
	}
	id := appears(t, filepath.Join(dir, "id"))
	appears(t, filepath.Join(dir, "recorded"))
	state := filepath.Join(dir, "state")
	_, err = Open(Options{Dir: state})
	if locked, ok := errors.AsType[*LockedError](err); !ok || locked.PID != victim.Process.Pid {
		t.Errorf("while it lives: %v", err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	w := open(t, Options{Dir: state, Executor: process{}})
	w.want(id, types.JobStatusFailed, reasonHost)
	vanishes(t, pid)
}

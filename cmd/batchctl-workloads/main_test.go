//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
)

// asProgram makes the test binary the program itself.
const asProgram = "BATCHCTL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	testtool.Main(m)
}

// TestSecondSignal checks that a second signal ends the program although a driver hangs in a call that
// cannot be interrupted.
func TestSecondSignal(t *testing.T) {
	library := filepath.Join(fakecuda.Build(t), "libcuda.so.1")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), os.Args[0], "matrix", "--device", "cuda", "--sizes", "64")
	program.Env = append(os.Environ(), asProgram+"=1", libcuda.Variable+"="+library, "FAKECUDA_HANG="+pipe)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	hanging, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the driver is called
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	for patience := time.After(20 * time.Second); ; {
		_ = program.Process.Signal(os.Interrupt) // two that come together are one
		select {
		case <-ended:
			if s := program.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != os.Interrupt {
				t.Errorf("it ended otherwise: %s", program.ProcessState)
			}
			return
		case <-patience:
			t.Fatal("it ignores signals")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

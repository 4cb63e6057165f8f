//go:build unix

// Package hangs has a test that never ends and leaves a process; testtool's own tests run it.
package hangs

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestMain(m *testing.M) { testtool.Main(m) }

func TestHangs(t *testing.T) {
	sleep := exec.Command("sleep", "1000")
	sleep.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	file := os.Getenv("BATCHCTL_TEST_SLEEPER")
	if err := os.WriteFile(file+".new", []byte(strconv.Itoa(sleep.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	t.Run("subtest", func(t *testing.T) {
		testtool.Running(t)
		select {}
	})
}

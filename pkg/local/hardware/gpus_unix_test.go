//go:build unix

package hardware

import (
	"github.com/batchctl/batchctl/pkg/local/process/processtest"

	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// TestGPUsOfHangingDriver checks that the engine starts although nvidia-smi does not answer and
// leaves its output open.
func TestGPUsOfHangingDriver(t *testing.T) {
	bin := t.TempDir()
	file := filepath.Join(bin, "pid")
	if err := os.WriteFile(filepath.Join(bin, "nvidia-smi"), []byte("#!/bin/sh\n"+processtest.Grandchild(file)+"wait\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan []string, 1)
	go func() { answered <- machineGPUs(ctx) }()
	pid, err := strconv.Atoi(processtest.Appears(t, file))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	cancel()
	<-answered
}

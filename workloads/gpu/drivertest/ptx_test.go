package drivertest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/workloads/gpu/cuda"
)

// TestPTX checks that the text that is committed is what the compiler makes of the source.
func TestPTX(t *testing.T) {
	folder := t.TempDir()
	err := cuda.Compile("probe.cu", cuda.SM70, folder)
	if errors.Is(err, cuda.ErrNoCompiler) {
		testtool.Missing(t, "%v", err)
	}
	must(t, err)
	got := get(os.ReadFile(filepath.Join(folder, cuda.Output("probe.cu", cuda.SM70))))(t)
	if string(got) != probe {
		t.Error("probe_sm70.ptx is not of this probe.cu: run go generate ./workloads/gpu/drivertest")
	}
}

package local

import (
	"path/filepath"
	"testing"
)

func TestOpenMeasuresTheMachine(t *testing.T) {
	e, err := Open(Options{Dir: filepath.Join(t.TempDir(), "state"), Executor: &script{}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	if c := e.options.capacity(); c.MilliCPU < 1000 || c.MemoryMiB < 64 {
		t.Errorf("capacity %+v", c)
	}
}

package hardware

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestGPUsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nvidia-smi": {"GPU 0: NVIDIA H200 (UUID: GPU-1a2b)\nGPU 1: NVIDIA H200 (UUID: GPU-3c4d)\n", []string{"GPU-1a2b", "GPU-3c4d"}},
		"proc":       {"Model: \t\t NVIDIA A10G\nIRQ:   \t\t 58\nGPU UUID: \t GPU-5e6f\nVideo BIOS: \t 94.02\n", []string{"GPU-5e6f"}},
		"slices":     {"GPU 0: NVIDIA H200 (UUID: GPU-1a2b)\n  MIG 1g.18gb     Device  0: (UUID: MIG-9f8e)\n", []string{"GPU-1a2b"}},
		"none":       {"No devices were found\n", nil},
	} {
		if got := gpuUUIDs([]byte(c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestCgroupLimit(t *testing.T) {
	const none = ^uint64(0)
	for _, c := range []struct {
		file, text string
		want       uint64
	}{
		{"memory.max", "max\n", none},
		{"memory.max", "536870912\n", 512 << 20},
		{"memory/memory.limit_in_bytes", "1073741824\n", 1 << 30},
		{"other", "1", none},
	} {
		root := t.TempDir()
		path := filepath.Join(root, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := cgroupLimit(root); got != c.want {
			t.Errorf("%s %q: %d, want %d", c.file, c.text, got, c.want)
		}
	}
}

package gpuinfo

import (
	"path/filepath"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/cublas"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
	"github.com/batchctl/batchctl/workloads/gpu/nvml"
)

// TestLibraries goes the whole way, through libraries in C in place of NVIDIA's.
func TestLibraries(t *testing.T) {
	folder := fakecuda.Build(t)
	t.Setenv("FAKECUDA_DEVICES", "2")
	for name, file := range map[string]string{libcuda.Variable: "libcuda.so.1", "BATCHCTL_CUBLAS": "libcublas.so.12", "BATCHCTL_NVML": "libnvidia-ml.so.1"} {
		t.Setenv(name, filepath.Join(folder, file))
	}
	compare(t, "libraries.txt", place{name: "libraries", root: given(2), env: batch, usable: true, platform: gpu.Platform{
		Bindings: []gpu.Binding{{Name: "libcuda", Open: libcuda.Open}}, BLAS: cublas.Open, Management: nvml.Open,
	}}.run(t))
}

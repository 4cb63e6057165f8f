//go:build !linux || !(amd64 || arm64)

package cublas

import "github.com/batchctl/batchctl/workloads/gpu"

// Open returns a *gpu.UnavailableError: cuBLAS cannot be loaded on this system.
func Open() (gpu.BLAS, error) {
	return nil, &gpu.UnavailableError{Binding: "cuBLAS",
		Reason: "cuBLAS is supported only on Linux, on amd64 and arm64"}
}

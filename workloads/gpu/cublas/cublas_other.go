//go:build !linux || !(amd64 || arm64)

package cublas

import "github.com/batchctl/batchctl/workloads/gpu"

// Open says that cuBLAS cannot be loaded here.
func Open() (gpu.BLAS, error) {
	return nil, &gpu.UnavailableError{Binding: "cuBLAS", Reason: "cuBLAS is loaded on Linux alone, on amd64 and arm64"}
}

//go:build !linux || !(amd64 || arm64)

package nvml

import "github.com/batchctl/batchctl/workloads/gpu"

// Open returns a *gpu.UnavailableError: NVML cannot be loaded on this system.
func Open() (gpu.Management, error) {
	return nil, &gpu.UnavailableError{Binding: "NVML", Reason: "NVML is supported only on Linux, on amd64 and arm64"}
}

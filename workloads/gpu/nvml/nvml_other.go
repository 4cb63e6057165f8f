//go:build !linux || !(amd64 || arm64)

package nvml

import "github.com/batchctl/batchctl/workloads/gpu"

// Open says that NVML cannot be loaded here.
func Open() (gpu.Management, error) {
	return nil, &gpu.UnavailableError{Binding: "NVML", Reason: "NVML is loaded on Linux alone, on amd64 and arm64"}
}

//go:build !(linux && (amd64 || arm64))

package libcuda

import (
	"runtime"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// Open returns a *gpu.UnavailableError: this system has no binding to a GPU.
func Open() (gpu.Driver, error) {
	return nil, &gpu.UnavailableError{
		Binding: binding, Reason: "GPUs are supported on Linux with amd64 or arm64, and this is " + runtime.GOOS +
			" with " + runtime.GOARCH,
		Remedy: "run it in a Linux container that has a GPU",
	}
}

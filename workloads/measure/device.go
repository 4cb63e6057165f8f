package measure

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// Kind is what a workload computes on.
type Kind string

// The device kinds a person can ask for with --device.
const (
	CPU  Kind = "cpu"
	CUDA Kind = "cuda"
)

// Kinds lists every device kind, the default first.
func Kinds() []Kind { return []Kind{CPU, CUDA} }

// Device is an opened device, as results name it.
type Device struct {
	Kind Kind `json:"kind"`
	// Name is the model, such as "AMD EPYC".
	Name string `json:"name"`
	// Threads is the number of goroutines that compute; 0 on a GPU.
	Threads int `json:"threads"`
}

// NoDeviceError says that the device asked for cannot be used here. Programs
// exit with 3 for it, so that a retry strategy can tell it from failed work.
type NoDeviceError struct {
	Kind   Kind
	Reason string
}

func (e *NoDeviceError) Error() string {
	return fmt.Sprintf("--device %s: %s; run with --device cpu", e.Kind, e.Reason)
}

// Open returns the device of that kind, or a NoDeviceError.
func Open(kind Kind, threads int) (Device, error) {
	return open(os.DirFS("/"), kind, threads)
}

func open(root fs.FS, kind Kind, threads int) (Device, error) {
	if kind == CPU {
		return Device{Kind: CPU, Name: cpuName(root), Threads: threads}, nil
	}
	reason := "this machine has no NVIDIA GPU (no /dev/nvidiactl), and this build has no CUDA support"
	if _, err := fs.Stat(root, "dev/nvidiactl"); err == nil {
		reason = "this build has no CUDA support"
	}
	return Device{}, &NoDeviceError{Kind: kind, Reason: reason}
}

// cpuName reads the model from Linux; elsewhere, and on processors that do not
// tell, the architecture has to do.
func cpuName(root fs.FS) string {
	info, err := fs.ReadFile(root, "proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for lines := bufio.NewScanner(bytes.NewReader(info)); lines.Scan(); {
		key, value, found := strings.Cut(lines.Text(), ":")
		if found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

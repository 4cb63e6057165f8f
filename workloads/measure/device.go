package measure

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// DeviceKind is the kind of device that a workload computes on.
type DeviceKind string

// The values of --device.
const (
	CPU  DeviceKind = "cpu"
	CUDA DeviceKind = "cuda"
)

// DeviceKinds lists every device kind, the default first.
func DeviceKinds() []DeviceKind { return []DeviceKind{CPU, CUDA} }

// Device is an opened device, as results name it.
type Device struct {
	Kind DeviceKind `json:"kind"`
	// Name is the model, such as "AMD EPYC".
	Name string `json:"name"`
	// Threads is the number of goroutines that compute; 0 on a GPU.
	Threads int `json:"threads"`
	// UUIDs are those of the GPUs, in the order of their ordinals.
	UUIDs []string `json:"uuids,omitempty"`
	// Driver is the newest CUDA that the driver supports, such as "CUDA 12.8", and
	// Binding the way to it.
	Driver  string `json:"driver,omitempty"`
	Binding string `json:"binding,omitempty"`
}

// String is the device as the first line of the text shows it.
func (d Device) String() string {
	text := fmt.Sprintf("%s (%s)", d.Kind, d.Name)
	if d.Kind == CPU {
		return fmt.Sprintf("%s, %d threads", text, d.Threads)
	}
	return text + ", " + d.Driver + " by " + d.Binding + ", " + strings.Join(d.UUIDs, " ")
}

// NoDeviceError is the error for a device that cannot be used on this machine. Programs exit with
// status 3 for it, so that a retry strategy can tell it from failed work.
type NoDeviceError struct {
	// Kind is empty if no --device asked for the device.
	Kind   DeviceKind
	Reason string
}

// Error names the device, the reason, and the flag that avoids the device.
func (e *NoDeviceError) Error() string {
	if e.Kind == "" {
		return e.Reason
	}
	return fmt.Sprintf("--device %s: %s; or use --device cpu", e.Kind, e.Reason)
}

// Processor is the local CPU, used by that many goroutines.
func Processor(threads int) Device {
	return Device{Kind: CPU, Name: cpuName(os.DirFS("/")), Threads: threads}
}

// CheckBinding returns a UsageError for a --binding that this program does not have. Another
// machine cannot fix that. A program without any binding accepts every name.
func CheckBinding(p gpu.Platform, name string) error {
	var names []string
	for _, b := range p.Bindings {
		names = append(names, b.Name)
	}
	if name == "" || len(names) == 0 || slices.Contains(names, name) {
		return nil
	}
	return Unknown("binding", name, names)
}

// OpenCards opens the GPUs of the options: --gpus of them, by --binding. The error is a
// NoDeviceError if they cannot be used on this machine, and a UsageError for a binding that this
// program does not have.
func OpenCards(p gpu.Platform, o Options) (gpu.Cards, Device, error) {
	if err := CheckBinding(p, o.Binding); err != nil {
		return nil, Device{}, err
	}
	driver, err := p.Connect(o.Binding)
	if err != nil {
		return nil, Device{}, noDevice(err)
	}
	cards, err := gpu.OpenAll(driver, o.GPUs)
	if err != nil {
		return nil, Device{}, noDevice(err)
	}
	version, err := driver.Version()
	if err != nil {
		return nil, Device{}, errors.Join(noDevice(err), cards.Close())
	}
	device := Device{
		Kind: CUDA, Name: cards[0].Info.Name, Binding: driver.Binding(),
		Driver: fmt.Sprintf("CUDA %d.%d", version/1000, version%1000/10),
	}
	for _, c := range cards {
		device.UUIDs = append(device.UUIDs, c.Info.UUID)
	}
	if len(cards) > 1 {
		device.Name = fmt.Sprintf("%d x %s", len(cards), device.Name)
	}
	return cards, device, nil
}

// noDevice turns the error of an unavailable GPU into a NoDeviceError.
func noDevice(err error) error {
	if missing, ok := errors.AsType[*gpu.UnavailableError](err); ok {
		return &NoDeviceError{Kind: CUDA, Reason: missing.Error()}
	}
	return err
}

// Unusable turns the error of kernels that the driver or the card cannot load into a NoDeviceError,
// because another machine may support them. The codes are those of cuda.h.
func Unusable(err error) error {
	const noBinaryForGPU, noCompiler, unsupportedPTX = 209, 221, 222
	if fault, ok := errors.AsType[*gpu.Error](err); ok &&
		slices.Contains([]int{noBinaryForGPU, noCompiler, unsupportedPTX}, fault.Code) {
		return &NoDeviceError{Kind: CUDA, Reason: fmt.Sprintf("%v; use a machine with a newer driver or GPU", err)}
	}
	return err
}

// cpuName reads the processor's model from Linux; on other systems, and on processors without a
// model name, it is the architecture.
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

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

// DeviceKind is what a workload computes on.
type DeviceKind string

// The device kinds a person can ask for with --device.
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

// NoDeviceError says that the device asked for cannot be used here. Programs
// exit with 3 for it, so that a retry strategy can tell it from failed work.
type NoDeviceError struct {
	// DeviceKind is empty where no --device asked for it.
	Kind   DeviceKind
	Reason string
}

func (e *NoDeviceError) Error() string {
	if e.Kind == "" {
		return e.Reason
	}
	return fmt.Sprintf("--device %s: %s; or run with --device cpu", e.Kind, e.Reason)
}

// Processor is this machine's CPU, used by that many goroutines.
func Processor(threads int) Device {
	return Device{Kind: CPU, Name: cpuName(os.DirFS("/")), Threads: threads}
}

// CheckBinding refuses a --binding that no machine can fix: one that this program, which
// has others, does not have.
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

// OpenCards opens the GPUs that the options ask for: --gpus of them, by --binding. The
// error is a NoDeviceError where they cannot be used here, and a UsageError for a binding
// that this program does not have.
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

// noDevice keeps the reason of a GPU that is not there apart from work that failed.
func noDevice(err error) error {
	if missing, ok := errors.AsType[*gpu.UnavailableError](err); ok {
		return &NoDeviceError{Kind: CUDA, Reason: missing.Error()}
	}
	return err
}

// Unusable tells kernels that are of no use to the driver or the card from work that
// failed: another machine may have what they need, so it is a NoDeviceError.
func Unusable(err error) error {
	const noBinaryForGPU, noCompiler, unsupportedPTX = 209, 221, 222
	if fault, ok := errors.AsType[*gpu.Error](err); ok && slices.Contains([]int{noBinaryForGPU, noCompiler, unsupportedPTX}, fault.Code) {
		return &NoDeviceError{Kind: CUDA, Reason: fmt.Sprintf("%v; take a machine with a newer driver or GPU", err)}
	}
	return err
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

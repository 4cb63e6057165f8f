package gpu

import (
	"fmt"
	"os"
)

// UnavailableError says that a binding cannot be used here: no driver, no GPU, a stub
// library, or a driver that is too old.
type UnavailableError struct {
	Binding string
	// Reason is what was found, and Remedy what the person who runs the job can do.
	Reason, Remedy string
}

// Error is the reason and the remedy, after the name of the binding.
func (e *UnavailableError) Error() string {
	text := e.Reason
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// OldestCUDA is the oldest version of CUDA that a driver has to support, as Version
// counts: that of the kernels' PTX, 6.3.
const OldestCUDA = 10000

// NoLibrary is the error of a binding that finds no libcuda; detail says where it looked.
func NoLibrary(binding, detail string) error {
	return &UnavailableError{
		Binding: binding, Reason: "no NVIDIA driver found: " + detail,
		Remedy: "request a GPU in the job's resourceRequirements, or start the container with --gpus all and NVIDIA's container runtime",
	}
}

// NotStarted is the error of a binding whose cuInit answered the code: an
// *UnavailableError for what a person can fix, or an *Error.
func NotStarted(binding string, code int) error {
	missing := &UnavailableError{Binding: binding}
	switch code {
	case CodeStubLibrary:
		missing.Reason = "libcuda.so.1 is the CUDA toolkit's stub, which exists only for linking, not the driver"
		missing.Remedy = "remove the stubs directory from LD_LIBRARY_PATH, and request a GPU in the job's resourceRequirements"
	case CodeNoDevice:
		return noGPU(binding)
	case 802:
		missing.Reason = "the GPUs are not ready; on a machine with NVSwitch, the usual cause is that nvidia-fabricmanager is not running"
		missing.Remedy = "start nvidia-fabricmanager on the machine, or run the job on another machine"
	case 803:
		missing.Reason = "libcuda and the NVIDIA driver's kernel module have different versions"
		missing.Remedy = "restart the machine if its driver was upgraded, and remove any libcuda from the image"
	case 804:
		missing.Reason = "the CUDA compatibility library does not support this GPU"
		missing.Remedy = "remove /usr/local/cuda/compat from LD_LIBRARY_PATH, or upgrade the machine's driver"
	case 999:
		missing.Reason = "the NVIDIA driver cannot start"
		missing.Remedy = "check that nvidia-smi works on the machine, and that the kernel module nvidia-uvm is loaded"
	default:
		return &Error{Call: "cuInit", Code: code}
	}
	missing.Reason += fmt.Sprintf(" (CUDA error %d, %s)", code, CodeName(code))
	return missing
}

// OldDriver is the error of a binding whose driver supports only that version of CUDA, or
// nil where it is new enough.
func OldDriver(binding string, version int) error {
	if version >= OldestCUDA {
		return nil
	}
	return &UnavailableError{
		Binding: binding, Reason: fmt.Sprintf("the NVIDIA driver supports CUDA %d.%d, and this program needs 10.0 or later", version/1000, version%1000/10),
		Remedy: "run the job on a machine image with driver 410 or later",
	}
}

func noGPU(binding string) error {
	return &UnavailableError{
		Binding: binding, Reason: "the NVIDIA driver sees no GPU",
		Remedy: "check that the job's resourceRequirements request a GPU" + hiding(),
	}
}

func tooFew(binding string, n, count int) error {
	visible := "1 is visible"
	if count > 1 {
		visible = fmt.Sprintf("%d are visible", count)
	}
	return &UnavailableError{
		Binding: binding, Reason: fmt.Sprintf("%d GPUs are requested, and %s", n, visible),
		Remedy: fmt.Sprintf("check that the job's resourceRequirements request %d GPUs", n) + hiding(),
	}
}

// hiding continues with the variable that hides GPUs from the driver.
func hiding() string {
	const name = "CUDA_VISIBLE_DEVICES"
	if value, ok := os.LookupEnv(name); ok {
		return fmt.Sprintf(", and that %s, which is %q, lists them", name, value)
	}
	return ", and that " + name + " hides no GPU"
}

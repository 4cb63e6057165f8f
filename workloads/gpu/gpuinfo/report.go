package gpuinfo

import "github.com/batchctl/batchctl/workloads/gpu"

// Report describes the GPUs that a job sees. It is the object that --format json prints.
type Report struct {
	// Usable is the number of GPUs that the workloads can compute on.
	Usable int `json:"usable"`
	// Driver is the driver's version, such as 570.124.06, and CUDA the newest version that it
	// supports, such as 12.8.
	Driver string `json:"driver,omitempty"`
	CUDA   string `json:"cuda,omitempty"`
	// Binding is the binding in use; Bindings are all of this program.
	Binding  string    `json:"binding,omitempty"`
	Bindings []Part    `json:"bindings"`
	CuBLAS   Part      `json:"cublas"`
	NVML     Part      `json:"nvml"`
	Devices  []Device  `json:"devices"`
	Host     Host      `json:"host"`
	Problems []Problem `json:"problems"`
}

// Part is a library, or a binding to one.
type Part struct {
	Name string `json:"name"`
	// Version is a library's, or what a binding calls itself, such as gorgonia.org/cu v0.9.6.
	Version string `json:"version,omitempty"`
	// Missing is why it is not used, and Remedy what to do. Both are empty if it is used.
	Missing string `json:"missing,omitempty"`
	Remedy  string `json:"remedy,omitempty"`

	tried bool // whether Open was called
}

// Device is one GPU, or one MIG instance.
type Device struct {
	// Ordinal is its number in CUDA; nil if CUDA does not see it.
	Ordinal *int   `json:"ordinal,omitempty"`
	Name    string `json:"name"`
	UUID    string `json:"uuid"`
	// PCI is domain:bus:device, such as 0000:17:00.
	PCI string `json:"pci,omitempty"`
	// Capability is the compute capability, such as 9.0.
	Capability      string `json:"capability,omitempty"`
	Multiprocessors int    `json:"multiprocessors,omitempty"`
	MemoryBytes     int64  `json:"memoryBytes,omitempty"`
	FreeBytes       int64  `json:"freeBytes,omitempty"`
	// Failure is why the device could not be opened.
	Failure string `json:"failure,omitempty"`
	// Readings are NVML's.
	Readings *gpu.Readings `json:"readings,omitempty"`
	// Unread names what NVML failed to read.
	Unread string `json:"unread,omitempty"`

	capability int // 10*major + minor, for comparisons
}

// The oldest devices and CUDA that the kernels run on: see the targets in workloads/gpu/cuda.
const (
	oldestDevice       = 70     // Volta
	oldestTensorDevice = 80     // Ampere, the first with TF32 and bfloat16
	oldestTensorCUDA   = 11_000 // takes PTX 7.0; drivers below gpu.OldestCUDA no binding opens
)

// usable reports whether the workloads can compute on the device.
func (d Device) usable() bool {
	return d.Ordinal != nil && d.Failure == "" && d.capability >= oldestDevice
}

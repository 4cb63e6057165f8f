package gpuinfo

import "github.com/batchctl/batchctl/workloads/gpu"

// Report is what a job sees of its GPUs. It is the object that --format json prints.
type Report struct {
	// Usable is how many GPUs the workloads can compute on.
	Usable int `json:"usable"`
	// Driver is the driver's version, such as 570.124.06, and CUDA the newest that it
	// takes, such as 12.8.
	Driver string `json:"driver,omitempty"`
	CUDA   string `json:"cuda,omitempty"`
	// Binding is the way to the driver that is used; Bindings are all of this program.
	Binding  string    `json:"binding,omitempty"`
	Bindings []Part    `json:"bindings"`
	CuBLAS   Part      `json:"cublas"`
	NVML     Part      `json:"nvml"`
	Devices  []Device  `json:"devices"`
	Host     Host      `json:"host"`
	Problems []Problem `json:"problems"`
}

// Part is a library, or a way to one.
type Part struct {
	Name string `json:"name"`
	// Version is a library's, or what a binding calls itself, such as gorgonia.org/cu v0.9.6.
	Version string `json:"version,omitempty"`
	// Missing says why it is not used, and Remedy what helps. Both are empty where it is.
	Missing string `json:"missing,omitempty"`
	Remedy  string `json:"remedy,omitempty"`

	tried bool
}

// Device is one GPU, or one instance of MIG.
type Device struct {
	// Ordinal is the number that CUDA gives it; nil where CUDA does not see it.
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
	// Failure says why the device could not be opened.
	Failure string `json:"failure,omitempty"`
	// Readings are NVML's.
	Readings *gpu.Readings `json:"readings,omitempty"`
	// Unread names what NVML failed to read.
	Unread string `json:"unread,omitempty"`

	capability int
}

// The oldest that the kernels of this repository run on: see the targets in workloads/gpu/cuda.
const (
	oldestDevice       = 70     // Volta
	oldestTensorDevice = 80     // Ampere, the first with TF32 and bfloat16
	oldestTensorCUDA   = 11_000 // takes PTX 7.0; drivers below gpu.OldestCUDA no binding opens
)

// usable tells whether the workloads can compute on it.
func (d Device) usable() bool {
	return d.Ordinal != nil && d.Failure == "" && d.capability >= oldestDevice
}

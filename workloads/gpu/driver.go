package gpu

import (
	"fmt"
	"unsafe"
)

// Handles of the driver. Zero is an invalid handle, except that the zero Stream is the default stream.
type (
	// Pointer is an address in a device's memory.
	Pointer  uint64
	Context  uintptr
	Module   uintptr
	Function uintptr
	Stream   uintptr
	Event    uintptr
)

// Driver is what the workloads use of the CUDA driver API, one method for each call.
// Errors are a *Error with the driver's code. Devices are ordinals from 0. Everything
// from SetCurrent on acts on the context that is current on the calling thread, so its
// caller is locked to one. Sizes are in bytes.
type Driver interface {
	// Binding names the implementation, such as "libcuda" or "gorgonia.org/cu v0.9.6".
	Binding() string
	// Version is the newest CUDA that the driver supports: 1000*major + 10*minor.
	Version() (int, error)
	DeviceCount() (int, error)
	DeviceName(device int) (string, error)
	// DeviceUUID is "GPU-" and the hexadecimal form that nvidia-smi prints.
	DeviceUUID(device int) (string, error)
	DeviceAttribute(device int, a Attribute) (int, error)
	DeviceMemory(device int) (int64, error)

	RetainPrimaryContext(device int) (Context, error)
	ReleasePrimaryContext(device int) error
	SetCurrent(c Context) error

	// MemoryInfo is what of the current device's memory is free, and all of it.
	MemoryInfo() (free, total int64, err error)
	Alloc(size int64) (Pointer, error)
	Free(p Pointer) error
	// AllocHost returns pinned memory, which the device copies on its own.
	AllocHost(size int64) (unsafe.Pointer, error)
	FreeHost(p unsafe.Pointer) error

	// The copies and Fill are asynchronous: they are ordered by their stream, and the
	// memory on the host must be pinned, or stay where it is until the stream is done.
	CopyIn(dst Pointer, src unsafe.Pointer, size int64, s Stream) error
	CopyOut(dst unsafe.Pointer, src Pointer, size int64, s Stream) error
	CopyOver(dst, src Pointer, size int64, s Stream) error
	// CopyIn2D and CopyOut2D copy rows of width bytes. On the device the rows have no gap; on
	// the host, which must be pinned, each begins pitch bytes after the one before.
	CopyIn2D(dst Pointer, src unsafe.Pointer, pitch, width, rows int64, s Stream) error
	CopyOut2D(dst unsafe.Pointer, src Pointer, pitch, width, rows int64, s Stream) error
	Fill(dst Pointer, value byte, size int64, s Stream) error

	// LoadModule compiles PTX for the current device. The error holds the compiler's log.
	LoadModule(ptx string) (Module, error)
	UnloadModule(m Module) error
	Function(m Module, name string) (Function, error)
	// Global finds a variable of the module, such as one in constant memory.
	Global(m Module, name string) (p Pointer, size int64, err error)
	// AllowShared lets launches of f ask for that much dynamic shared memory, above 48 KiB.
	AllowShared(f Function, size int) error
	// Launch starts f. Each element of args points to 8 bytes that begin with an argument,
	// because a binding may read all of them; it has done so when Launch returns.
	Launch(f Function, grid, block Dim, shared int, s Stream, args []unsafe.Pointer) error

	NewStream() (Stream, error)
	DestroyStream(s Stream) error
	Synchronize(s Stream) error
	// WaitEvent holds what is put on the stream next until the event has passed.
	WaitEvent(s Stream, e Event) error

	NewEvent() (Event, error)
	DestroyEvent(e Event) error
	Record(e Event, s Stream) error
	// Elapsed is the milliseconds between two recorded events that have passed.
	Elapsed(start, end Event) (float32, error)
}

// Dim is a number of blocks of a grid, or of threads of a block, along x, y and z.
type Dim [3]uint32

// String is the numbers, such as 128x1x1.
func (d Dim) String() string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }

// Attribute is a CUdevice_attribute.
type Attribute int

// The attributes that a Card reads, as cuda.h numbers them.
const (
	MaxSharedPerBlock   Attribute = 8
	ClockKHz            Attribute = 13
	MultiprocessorCount Attribute = 16
	Integrated          Attribute = 18
	ECCEnabled          Attribute = 32
	PCIBus              Attribute = 33
	PCIDevice           Attribute = 34
	MemoryClockKHz      Attribute = 36
	MemoryBusBits       Attribute = 37
	L2Bytes             Attribute = 38
	PCIDomain           Attribute = 50
	CapabilityMajor     Attribute = 75
	CapabilityMinor     Attribute = 76
	SharedPerBlockOptin Attribute = 97
)

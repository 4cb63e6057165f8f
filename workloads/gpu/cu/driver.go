//go:build cuda && cgo && linux

package cu

// #include <cuda.h>
import "C"

import (
	"errors"
	"strings"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// driver calls cu, and the driver itself for the few calls that cu lacks.
type driver struct{}

// handle are cu's types for what the driver gives out: each is a struct of one pointer,
// which other packages can neither fill nor read.
type handle interface {
	cu.CUContext | cu.Module | cu.Function | cu.Stream | cu.Event
}

// None of them may be of another size than what it is read from.
var (
	_ [unsafe.Sizeof(cu.CUContext{})]byte = [unsafe.Sizeof(gpu.Context(0))]byte{}
	_ [unsafe.Sizeof(cu.Module{})]byte    = [unsafe.Sizeof(gpu.Module(0))]byte{}
	_ [unsafe.Sizeof(cu.Function{})]byte  = [unsafe.Sizeof(gpu.Function(0))]byte{}
	_ [unsafe.Sizeof(cu.Stream{})]byte    = [unsafe.Sizeof(gpu.Stream(0))]byte{}
	_ [unsafe.Sizeof(cu.Event{})]byte     = [unsafe.Sizeof(gpu.Event(0))]byte{}
)

func theirs[H handle, O ~uintptr](h O) H { return *(*H)(unsafe.Pointer(&h)) }

func ours[O ~uintptr, H handle](h H) O { return *(*O)(unsafe.Pointer(&h)) }

func context(c gpu.Context) cu.CUContext  { return theirs[cu.CUContext](c) }
func module(m gpu.Module) cu.Module       { return theirs[cu.Module](m) }
func function(f gpu.Function) cu.Function { return theirs[cu.Function](f) }
func stream(s gpu.Stream) cu.Stream       { return theirs[cu.Stream](s) }
func event(e gpu.Event) cu.Event          { return theirs[cu.Event](e) }

func (driver) Binding() string { return binding }

// Version asks the driver itself: cu.Version says -1 for any error.
func (driver) Version() (int, error) {
	var version C.int
	err := result("cuDriverGetVersion", int(C.cuDriverGetVersion(&version)))
	return int(version), err
}

func (driver) DeviceCount() (int, error) {
	n, err := cu.NumDevices()
	return n, check("cuDeviceGetCount", err)
}

func (driver) DeviceName(device int) (string, error) {
	d, err := cu.GetDevice(device)
	if err != nil {
		return "", check("cuDeviceGet", err)
	}
	name, err := d.Name()
	return name, check("cuDeviceGetName", err)
}

func (driver) DeviceUUID(device int) (string, error) {
	d, err := cu.GetDevice(device)
	if err != nil {
		return "", check("cuDeviceGet", err)
	}
	id, err := d.UUID()
	if err != nil {
		return "", check("cuDeviceGetUuid", err)
	}
	return "GPU-" + id.String(), nil
}

func (driver) DeviceAttribute(device int, a gpu.Attribute) (int, error) {
	d, err := cu.GetDevice(device)
	if err != nil {
		return 0, check("cuDeviceGet", err)
	}
	value, err := d.Attribute(cu.DeviceAttribute(a))
	return value, check("cuDeviceGetAttribute", err)
}

func (driver) DeviceMemory(device int) (int64, error) {
	d, err := cu.GetDevice(device)
	if err != nil {
		return 0, check("cuDeviceGet", err)
	}
	size, err := d.TotalMem()
	return size, check("cuDeviceTotalMem", err)
}

func (driver) RetainPrimaryContext(device int) (gpu.Context, error) {
	d, err := cu.GetDevice(device)
	if err != nil {
		return 0, check("cuDeviceGet", err)
	}
	c, err := d.RetainPrimaryCtx()
	return ours[gpu.Context](c), check("cuDevicePrimaryCtxRetain", err)
}

func (driver) ReleasePrimaryContext(device int) error {
	d, err := cu.GetDevice(device)
	if err != nil {
		return check("cuDeviceGet", err)
	}
	return check("cuDevicePrimaryCtxRelease", d.ReleasePrimaryCtx())
}

func (driver) SetCurrent(c gpu.Context) error {
	return check("cuCtxSetCurrent", cu.SetCurrentContext(context(c)))
}

// logBytes is room for the messages of the PTX compiler.
const logBytes = 16 << 10

// LoadModule keeps the compiler's log outside of Go's memory, because cu hands its
// address over as an integer. The byte after it ends the text, whatever is written.
func (driver) LoadModule(ptx string) (gpu.Module, error) {
	log := C.calloc(1, logBytes+1)
	defer C.free(log)
	m, err := cu.LoadDataEx(ptx, &cu.JITErrorLogBuffer{Buffer: unsafe.Slice((*byte)(log), logBytes)})
	err = check("cuModuleLoadDataEx", err)
	if e, ok := errors.AsType[*gpu.Error](err); ok && e.Detail == "" {
		e.Detail = strings.TrimSpace(C.GoString((*C.char)(log)))
	}
	return ours[gpu.Module](m), err
}

func (driver) UnloadModule(m gpu.Module) error {
	return check("cuModuleUnload", module(m).Unload())
}

func (driver) Function(m gpu.Module, name string) (gpu.Function, error) {
	f, err := module(m).Function(name)
	return ours[gpu.Function](f), check("cuModuleGetFunction", err)
}

func (driver) Global(m gpu.Module, name string) (p gpu.Pointer, size int64, err error) {
	address, size, err := module(m).Global(name)
	return gpu.Pointer(address), size, check("cuModuleGetGlobal", err)
}

// AllowShared is not among what cu has.
func (driver) AllowShared(f gpu.Function, size int) error {
	code := C.cuFuncSetAttribute(*(*C.CUfunction)(unsafe.Pointer(&f)),
		C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(size))
	return result("cuFuncSetAttribute", int(code))
}

func (driver) Launch(f gpu.Function, grid, block gpu.Dim, shared int, s gpu.Stream, args []unsafe.Pointer) error {
	err := function(f).Launch(int(grid[0]), int(grid[1]), int(grid[2]), int(block[0]), int(block[1]), int(block[2]),
		shared, stream(s), args)
	return check("cuLaunchKernel", err)
}

func (driver) NewStream() (gpu.Stream, error) {
	s, err := cu.MakeStream(cu.NonBlocking)
	return ours[gpu.Stream](s), check("cuStreamCreate", err)
}

func (driver) DestroyStream(s gpu.Stream) error {
	their := stream(s)
	return check("cuStreamDestroy", their.Destroy())
}

func (driver) Synchronize(s gpu.Stream) error {
	return check("cuStreamSynchronize", stream(s).Synchronize())
}

func (driver) WaitEvent(s gpu.Stream, e gpu.Event) error {
	return check("cuStreamWaitEvent", stream(s).Wait(event(e), 0))
}

func (driver) NewEvent() (gpu.Event, error) {
	e, err := cu.MakeEvent(cu.DefaultEvent)
	return ours[gpu.Event](e), check("cuEventCreate", err)
}

func (driver) DestroyEvent(e gpu.Event) error {
	their := event(e)
	return check("cuEventDestroy", cu.DestroyEvent(&their))
}

func (driver) Record(e gpu.Event, s gpu.Stream) error {
	return check("cuEventRecord", event(e).Record(stream(s)))
}

func (driver) Elapsed(start, end gpu.Event) (float32, error) {
	milliseconds, err := event(start).Elapsed(event(end))
	return float32(milliseconds), check("cuEventElapsedTime", err)
}

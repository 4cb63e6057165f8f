//go:build linux && (amd64 || arm64)

package libcuda

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// Constants of cuda.h.
const (
	streamNonBlocking = 1 // CU_STREAM_NON_BLOCKING: does not wait for the default stream
	maxDynamicShared  = 8 // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

	hostMemory   = 1 // CU_MEMORYTYPE_HOST
	deviceMemory = 2 // CU_MEMORYTYPE_DEVICE

	jitErrorLog     = 5 // CU_JIT_ERROR_LOG_BUFFER
	jitErrorLogSize = 6 // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
)

// driver implements gpu.Driver, one method for each call of the API; gpu.Driver documents them.
type driver struct{ functions }

// check returns an error for a result that is not CUDA_SUCCESS.
func check(call string, c code) error {
	if c == 0 {
		return nil
	}
	return &gpu.Error{Call: call, Code: int(c)}
}

// text returns a zero-terminated copy of s for C.
func text(s string) *byte { return &append([]byte(s), 0)[0] }

// Binding names this package.
func (d *driver) Binding() string { return binding }

// Version may be called before cuInit.
func (d *driver) Version() (int, error) {
	var version int32
	err := check("cuDriverGetVersion", d.driverGetVersion(&version))
	return int(version), err
}

func (d *driver) DeviceCount() (int, error) {
	var count int32
	err := check("cuDeviceGetCount", d.deviceGetCount(&count))
	return int(count), err
}

// device returns the CUdevice of an ordinal.
func (d *driver) device(ordinal int) (int32, error) {
	var device int32
	err := check("cuDeviceGet", d.deviceGet(&device, int32(ordinal)))
	return device, err
}

func (d *driver) DeviceName(ordinal int) (string, error) {
	device, err := d.device(ordinal)
	if err != nil {
		return "", err
	}
	name := make([]byte, 256)
	if err := check("cuDeviceGetName", d.deviceGetName(&name[0], int32(len(name)), device)); err != nil {
		return "", err
	}
	return untilZero(name), nil
}

// untilZero returns the string in a buffer that C has filled.
func untilZero(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// DeviceUUID formats the bytes as nvidia-smi prints them.
func (d *driver) DeviceUUID(ordinal int) (string, error) {
	device, err := d.device(ordinal)
	if err != nil {
		return "", err
	}
	var u [16]byte
	if err := check("cuDeviceGetUuid", d.deviceGetUUID(&u, device)); err != nil {
		return "", err
	}
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}

func (d *driver) DeviceAttribute(ordinal int, a gpu.Attribute) (int, error) {
	device, err := d.device(ordinal)
	if err != nil {
		return 0, err
	}
	var value int32
	err = check("cuDeviceGetAttribute", d.deviceGetAttribute(&value, int32(a), device))
	return int(value), err
}

func (d *driver) DeviceMemory(ordinal int) (int64, error) {
	device, err := d.device(ordinal)
	if err != nil {
		return 0, err
	}
	var size uint64
	err = check("cuDeviceTotalMem", d.deviceTotalMem(&size, device))
	return int64(size), err
}

// RetainPrimaryContext creates the context of a device, or adds a reference to it.
func (d *driver) RetainPrimaryContext(ordinal int) (gpu.Context, error) {
	device, err := d.device(ordinal)
	if err != nil {
		return 0, err
	}
	var c gpu.Context
	err = check("cuDevicePrimaryCtxRetain", d.primaryContextRetain(&c, device))
	return c, err
}

func (d *driver) ReleasePrimaryContext(ordinal int) error {
	device, err := d.device(ordinal)
	if err != nil {
		return err
	}
	return check("cuDevicePrimaryCtxRelease", d.primaryContextRelease(device))
}

// SetCurrent sets the context of the calling thread; 0 sets none.
func (d *driver) SetCurrent(c gpu.Context) error {
	return check("cuCtxSetCurrent", d.contextSetCurrent(c))
}

// MemoryInfo is about the device of the current context, in bytes.
func (d *driver) MemoryInfo() (free, total int64, err error) {
	var f, t uint64
	err = check("cuMemGetInfo", d.memGetInfo(&f, &t))
	return int64(f), int64(t), err
}

func (d *driver) Alloc(size int64) (gpu.Pointer, error) {
	var p gpu.Pointer
	err := check("cuMemAlloc", d.memAlloc(&p, uint64(size)))
	return p, err
}

func (d *driver) Free(p gpu.Pointer) error { return check("cuMemFree", d.memFree(p)) }

// AllocHost allocates pinned memory. It is not write-combined, because the host reads it too.
func (d *driver) AllocHost(size int64) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := check("cuMemHostAlloc", d.memHostAlloc(&p, uint64(size), 0))
	return p, err
}

func (d *driver) FreeHost(p unsafe.Pointer) error { return check("cuMemFreeHost", d.memFreeHost(p)) }

func (d *driver) CopyIn(dst gpu.Pointer, src unsafe.Pointer, size int64, s gpu.Stream) error {
	return check("cuMemcpyHtoDAsync", d.copyHostToDevice(dst, src, uint64(size), s))
}

func (d *driver) CopyOut(dst unsafe.Pointer, src gpu.Pointer, size int64, s gpu.Stream) error {
	return check("cuMemcpyDtoHAsync", d.copyDeviceToHost(dst, src, uint64(size), s))
}

func (d *driver) CopyOver(dst, src gpu.Pointer, size int64, s gpu.Stream) error {
	return check("cuMemcpyDtoDAsync", d.copyDeviceToDevice(dst, src, uint64(size), s))
}

func (d *driver) CopyIn2D(dst gpu.Pointer, src unsafe.Pointer, pitch, width, rows int64, s gpu.Stream) error {
	return check("cuMemcpy2DAsync", d.copyRows(&copy2D{onHost(src, pitch), onDevice(dst, width), uint64(width), uint64(rows)}, s))
}

func (d *driver) CopyOut2D(dst unsafe.Pointer, src gpu.Pointer, pitch, width, rows int64, s gpu.Stream) error {
	return check("cuMemcpy2DAsync", d.copyRows(&copy2D{onDevice(src, width), onHost(dst, pitch), uint64(width), uint64(rows)}, s))
}

func onHost(p unsafe.Pointer, pitch int64) side2D {
	return side2D{memory: hostMemory, host: p, pitch: uint64(pitch)}
}

func onDevice(p gpu.Pointer, pitch int64) side2D {
	return side2D{memory: deviceMemory, device: p, pitch: uint64(pitch)}
}

func (d *driver) Fill(dst gpu.Pointer, value byte, size int64, s gpu.Stream) error {
	return check("cuMemsetD8Async", d.memset(dst, value, uint64(size), s))
}

// LoadModule compiles PTX for the device. The error has the compiler's log.
func (d *driver) LoadModule(ptx string) (gpu.Module, error) {
	log := make([]byte, 8192)
	var pinned runtime.Pinner // values has its address as a number, which the garbage collector does not see
	pinned.Pin(&log[0])
	defer pinned.Unpin()
	options := []int32{jitErrorLog, jitErrorLogSize}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	var m gpu.Module
	c := d.moduleLoad(&m, text(ptx), uint32(len(options)), &options[0], &values[0])
	if c != 0 {
		return 0, &gpu.Error{Call: "cuModuleLoadDataEx", Code: int(c), Detail: strings.TrimSpace(untilZero(log))}
	}
	return m, nil
}

func (d *driver) UnloadModule(m gpu.Module) error { return check("cuModuleUnload", d.moduleUnload(m)) }

// Function finds a kernel by its name in the PTX.
func (d *driver) Function(m gpu.Module, name string) (gpu.Function, error) {
	var f gpu.Function
	err := check("cuModuleGetFunction", d.moduleGetFunction(&f, m, text(name)))
	return f, err
}

// Global finds a variable of a module, and its size in bytes.
func (d *driver) Global(m gpu.Module, name string) (gpu.Pointer, int64, error) {
	var p gpu.Pointer
	var size uint64
	err := check("cuModuleGetGlobal", d.moduleGetGlobal(&p, &size, m, text(name)))
	return p, int64(size), err
}

// AllowShared lets a kernel use more than 48 KiB of dynamic shared memory.
func (d *driver) AllowShared(f gpu.Function, size int) error {
	return check("cuFuncSetAttribute", d.functionSetAttribute(f, maxDynamicShared, int32(size)))
}

// Launch queues a kernel. Each of args points to the value of one parameter.
func (d *driver) Launch(f gpu.Function, grid, block gpu.Dim, shared int, s gpu.Stream, args []unsafe.Pointer) error {
	// The call keeps args alive, and with them their targets. Those are on the heap, which does not
	// move, because they have passed through an interface.
	c := d.launchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], uint32(shared), s, unsafe.SliceData(args), nil)
	return check("cuLaunchKernel", c)
}

// NewStream creates a stream that does not wait for the default stream.
func (d *driver) NewStream() (gpu.Stream, error) {
	var s gpu.Stream
	err := check("cuStreamCreate", d.streamCreate(&s, streamNonBlocking))
	return s, err
}

func (d *driver) DestroyStream(s gpu.Stream) error {
	return check("cuStreamDestroy", d.streamDestroy(s))
}

// Synchronize waits for all work on the stream, and returns the errors of its kernels.
func (d *driver) Synchronize(s gpu.Stream) error {
	return check("cuStreamSynchronize", d.streamSynchronize(s))
}

// WaitEvent makes later work on the stream wait for the event; the caller does not wait.
func (d *driver) WaitEvent(s gpu.Stream, e gpu.Event) error {
	return check("cuStreamWaitEvent", d.streamWaitEvent(s, e, 0))
}

func (d *driver) NewEvent() (gpu.Event, error) {
	var e gpu.Event
	err := check("cuEventCreate", d.eventCreate(&e, 0))
	return e, err
}

func (d *driver) DestroyEvent(e gpu.Event) error { return check("cuEventDestroy", d.eventDestroy(e)) }

func (d *driver) Record(e gpu.Event, s gpu.Stream) error {
	return check("cuEventRecord", d.eventRecord(e, s))
}

// Elapsed returns milliseconds.
func (d *driver) Elapsed(start, end gpu.Event) (float32, error) {
	var milliseconds float32
	err := check("cuEventElapsedTime", d.eventElapsed(&milliseconds, start, end))
	return milliseconds, err
}

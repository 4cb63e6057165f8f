//go:build linux && (amd64 || arm64)

package libcuda

import (
	"unsafe"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// code is a CUresult.
type code int32

// functions are those of libcuda that the workloads use, with the types of cuda.h: CUdevice is an
// int32, size_t a uint64.
type functions struct {
	driverGetVersion func(version *int32) code
	init             func(flags uint32) code

	deviceGetCount     func(count *int32) code
	deviceGet          func(device *int32, ordinal int32) code
	deviceGetName      func(name *byte, size int32, device int32) code
	deviceGetUUID      func(uuid *[16]byte, device int32) code
	deviceGetAttribute func(value *int32, attribute, device int32) code
	deviceTotalMem     func(size *uint64, device int32) code

	primaryContextRetain  func(c *gpu.Context, device int32) code
	primaryContextRelease func(device int32) code
	contextSetCurrent     func(c gpu.Context) code

	memGetInfo   func(free, total *uint64) code
	memAlloc     func(p *gpu.Pointer, size uint64) code
	memFree      func(p gpu.Pointer) code
	memHostAlloc func(p *unsafe.Pointer, size uint64, flags uint32) code
	memFreeHost  func(p unsafe.Pointer) code

	copyHostToDevice   func(dst gpu.Pointer, src unsafe.Pointer, size uint64, s gpu.Stream) code
	copyDeviceToHost   func(dst unsafe.Pointer, src gpu.Pointer, size uint64, s gpu.Stream) code
	copyDeviceToDevice func(dst, src gpu.Pointer, size uint64, s gpu.Stream) code
	copyRows           func(c *copy2D, s gpu.Stream) code
	memset             func(dst gpu.Pointer, value uint8, size uint64, s gpu.Stream) code

	moduleLoad           func(m *gpu.Module, image *byte, n uint32, options *int32, values *uintptr) code
	moduleUnload         func(m gpu.Module) code
	moduleGetFunction    func(f *gpu.Function, m gpu.Module, name *byte) code
	moduleGetGlobal      func(p *gpu.Pointer, size *uint64, m gpu.Module, name *byte) code
	functionSetAttribute func(f gpu.Function, attribute, value int32) code
	launchKernel         func(f gpu.Function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32, s gpu.Stream, args, extra *unsafe.Pointer) code

	streamCreate      func(s *gpu.Stream, flags uint32) code
	streamDestroy     func(s gpu.Stream) code
	streamSynchronize func(s gpu.Stream) code
	streamWaitEvent   func(s gpu.Stream, e gpu.Event, flags uint32) code

	eventCreate  func(e *gpu.Event, flags uint32) code
	eventDestroy func(e gpu.Event) code
	eventRecord  func(e gpu.Event, s gpu.Stream) code
	eventElapsed func(milliseconds *float32, start, end gpu.Event) code
}

// symbol is a pointer to a member of functions, and the names that the library may have for it, the
// preferred one first.
type symbol struct {
	call  any
	names []string
}

// symbols lists every member of functions. If cuda.h defines a name as another with _v2, the plain
// symbol is an older function with other types.
func (f *functions) symbols() []symbol {
	return []symbol{
		{&f.driverGetVersion, []string{"cuDriverGetVersion"}},
		{&f.init, []string{"cuInit"}},
		{&f.deviceGetCount, []string{"cuDeviceGetCount"}},
		{&f.deviceGet, []string{"cuDeviceGet"}},
		{&f.deviceGetName, []string{"cuDeviceGetName"}},
		{&f.deviceGetUUID, []string{"cuDeviceGetUuid_v2", "cuDeviceGetUuid"}}, // _v2 since CUDA 11.4
		{&f.deviceGetAttribute, []string{"cuDeviceGetAttribute"}},
		{&f.deviceTotalMem, []string{"cuDeviceTotalMem_v2"}},
		{&f.primaryContextRetain, []string{"cuDevicePrimaryCtxRetain"}},
		// _v2 since CUDA 11.0
		{&f.primaryContextRelease, []string{"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"}},
		{&f.contextSetCurrent, []string{"cuCtxSetCurrent"}},
		{&f.memGetInfo, []string{"cuMemGetInfo_v2"}},
		{&f.memAlloc, []string{"cuMemAlloc_v2"}},
		{&f.memFree, []string{"cuMemFree_v2"}},
		{&f.memHostAlloc, []string{"cuMemHostAlloc"}},
		{&f.memFreeHost, []string{"cuMemFreeHost"}},
		{&f.copyHostToDevice, []string{"cuMemcpyHtoDAsync_v2"}},
		{&f.copyDeviceToHost, []string{"cuMemcpyDtoHAsync_v2"}},
		{&f.copyDeviceToDevice, []string{"cuMemcpyDtoDAsync_v2"}},
		{&f.copyRows, []string{"cuMemcpy2DAsync_v2"}},
		{&f.memset, []string{"cuMemsetD8Async"}},
		{&f.moduleLoad, []string{"cuModuleLoadDataEx"}},
		{&f.moduleUnload, []string{"cuModuleUnload"}},
		{&f.moduleGetFunction, []string{"cuModuleGetFunction"}},
		{&f.moduleGetGlobal, []string{"cuModuleGetGlobal_v2"}},
		{&f.functionSetAttribute, []string{"cuFuncSetAttribute"}},
		{&f.launchKernel, []string{"cuLaunchKernel"}},
		{&f.streamCreate, []string{"cuStreamCreate"}},
		{&f.streamDestroy, []string{"cuStreamDestroy_v2"}},
		{&f.streamSynchronize, []string{"cuStreamSynchronize"}},
		{&f.streamWaitEvent, []string{"cuStreamWaitEvent"}},
		{&f.eventCreate, []string{"cuEventCreate"}},
		{&f.eventDestroy, []string{"cuEventDestroy_v2"}},
		{&f.eventRecord, []string{"cuEventRecord"}},
		{&f.eventElapsed, []string{"cuEventElapsedTime"}},
	}
}

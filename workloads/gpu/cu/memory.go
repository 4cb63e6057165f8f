//go:build cuda && cgo && linux

package cu

// #include <cuda.h>
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"

	"github.com/batchctl/batchctl/workloads/gpu"
)

func (driver) MemoryInfo() (free, total int64, err error) {
	free, total, err = cu.MemInfo()
	return free, total, check("cuMemGetInfo", err)
}

func (driver) Alloc(size int64) (gpu.Pointer, error) {
	p, err := cu.MemAlloc(size)
	return gpu.Pointer(p), check("cuMemAlloc", err)
}

func (driver) Free(p gpu.Pointer) error {
	return check("cuMemFree", cu.MemFree(cu.DevicePtr(p)))
}

// AllocHost is not among what cu has, though FreeHost is.
func (driver) AllocHost(size int64) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := result("cuMemHostAlloc", int(C.cuMemHostAlloc(&p, C.size_t(size), 0)))
	return p, err
}

func (driver) FreeHost(p unsafe.Pointer) error {
	return check("cuMemFreeHost", cu.MemFreeHost(p))
}

func (driver) CopyIn(dst gpu.Pointer, src unsafe.Pointer, size int64, s gpu.Stream) error {
	return check("cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, size, stream(s)))
}

func (driver) CopyOut(dst unsafe.Pointer, src gpu.Pointer, size int64, s gpu.Stream) error {
	return check("cuMemcpyDtoHAsync", cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), size, stream(s)))
}

func (driver) CopyOver(dst, src gpu.Pointer, size int64, s gpu.Stream) error {
	return check("cuMemcpyDtoDAsync", cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), size, stream(s)))
}

// CopyIn2D and CopyOut2D call the driver: cu's function needs an array on both sides.
func (driver) CopyIn2D(dst gpu.Pointer, src unsafe.Pointer, pitch, width, rows int64, s gpu.Stream) error {
	return copyRows(&C.CUDA_MEMCPY2D{
		srcMemoryType: C.CU_MEMORYTYPE_HOST, srcHost: src, srcPitch: C.size_t(pitch),
		dstMemoryType: C.CU_MEMORYTYPE_DEVICE, dstDevice: C.CUdeviceptr(dst), dstPitch: C.size_t(width),
		WidthInBytes: C.size_t(width), Height: C.size_t(rows),
	}, s)
}

func (driver) CopyOut2D(dst unsafe.Pointer, src gpu.Pointer, pitch, width, rows int64, s gpu.Stream) error {
	return copyRows(&C.CUDA_MEMCPY2D{
		srcMemoryType: C.CU_MEMORYTYPE_DEVICE, srcDevice: C.CUdeviceptr(src), srcPitch: C.size_t(width),
		dstMemoryType: C.CU_MEMORYTYPE_HOST, dstHost: dst, dstPitch: C.size_t(pitch),
		WidthInBytes: C.size_t(width), Height: C.size_t(rows),
	}, s)
}

func copyRows(c *C.CUDA_MEMCPY2D, s gpu.Stream) error {
	return result("cuMemcpy2DAsync", int(C.cuMemcpy2DAsync(c, *(*C.CUstream)(unsafe.Pointer(&s)))))
}

func (driver) Fill(dst gpu.Pointer, value byte, size int64, s gpu.Stream) error {
	return check("cuMemsetD8Async", cu.MemsetD8Async(cu.DevicePtr(dst), value, size, stream(s)))
}

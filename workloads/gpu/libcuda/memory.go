//go:build linux && (amd64 || arm64)

package libcuda

import (
	"unsafe"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// Values of CUmemorytype in cuda.h.
const (
	hostMemory   = 1 // CU_MEMORYTYPE_HOST
	deviceMemory = 2 // CU_MEMORYTYPE_DEVICE
)

// memory has the functions that allocate, copy and fill memory.
type memory struct {
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
}

func (api *memory) symbols() []symbol {
	return []symbol{
		{&api.memGetInfo, []string{"cuMemGetInfo_v2"}},
		{&api.memAlloc, []string{"cuMemAlloc_v2"}},
		{&api.memFree, []string{"cuMemFree_v2"}},
		{&api.memHostAlloc, []string{"cuMemHostAlloc"}},
		{&api.memFreeHost, []string{"cuMemFreeHost"}},
		{&api.copyHostToDevice, []string{"cuMemcpyHtoDAsync_v2"}},
		{&api.copyDeviceToHost, []string{"cuMemcpyDtoHAsync_v2"}},
		{&api.copyDeviceToDevice, []string{"cuMemcpyDtoDAsync_v2"}},
		{&api.copyRows, []string{"cuMemcpy2DAsync_v2"}},
		{&api.memset, []string{"cuMemsetD8Async"}},
	}
}

// copy2D is a CUDA_MEMCPY2D.
type copy2D struct {
	src, dst      side2D
	width, height uint64
}

// side2D is where a CUDA_MEMCPY2D copies from or to.
type side2D struct {
	_      [2]uint64 // an offset in bytes and rows
	memory int32     // a CUmemorytype
	host   unsafe.Pointer
	device gpu.Pointer
	_      uintptr // a CUarray
	pitch  uint64
}

// MemoryInfo is about the device of the current context, in bytes.
func (api *memory) MemoryInfo() (free, total int64, err error) {
	var f, t uint64
	err = check("cuMemGetInfo", api.memGetInfo(&f, &t))
	return int64(f), int64(t), err
}

func (api *memory) Alloc(size int64) (gpu.Pointer, error) {
	var p gpu.Pointer
	err := check("cuMemAlloc", api.memAlloc(&p, uint64(size)))
	return p, err
}

func (api *memory) Free(p gpu.Pointer) error { return check("cuMemFree", api.memFree(p)) }

// AllocHost allocates pinned memory. It is not write-combined, because the host reads it too.
func (api *memory) AllocHost(size int64) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := check("cuMemHostAlloc", api.memHostAlloc(&p, uint64(size), 0))
	return p, err
}

func (api *memory) FreeHost(p unsafe.Pointer) error {
	return check("cuMemFreeHost", api.memFreeHost(p))
}

func (api *memory) CopyIn(dst gpu.Pointer, src unsafe.Pointer, size int64, s gpu.Stream) error {
	return check("cuMemcpyHtoDAsync", api.copyHostToDevice(dst, src, uint64(size), s))
}

func (api *memory) CopyOut(dst unsafe.Pointer, src gpu.Pointer, size int64, s gpu.Stream) error {
	return check("cuMemcpyDtoHAsync", api.copyDeviceToHost(dst, src, uint64(size), s))
}

func (api *memory) CopyOver(dst, src gpu.Pointer, size int64, s gpu.Stream) error {
	return check("cuMemcpyDtoDAsync", api.copyDeviceToDevice(dst, src, uint64(size), s))
}

func (api *memory) CopyIn2D(dst gpu.Pointer, src unsafe.Pointer, pitch, width, rows int64, s gpu.Stream) error {
	return check("cuMemcpy2DAsync",
		api.copyRows(&copy2D{onHost(src, pitch), onDevice(dst, width), uint64(width), uint64(rows)}, s))
}

func (api *memory) CopyOut2D(dst unsafe.Pointer, src gpu.Pointer, pitch, width, rows int64, s gpu.Stream) error {
	return check("cuMemcpy2DAsync",
		api.copyRows(&copy2D{onDevice(src, width), onHost(dst, pitch), uint64(width), uint64(rows)}, s))
}

func onHost(p unsafe.Pointer, pitch int64) side2D {
	return side2D{memory: hostMemory, host: p, pitch: uint64(pitch)}
}

func onDevice(p gpu.Pointer, pitch int64) side2D {
	return side2D{memory: deviceMemory, device: p, pitch: uint64(pitch)}
}

func (api *memory) Fill(dst gpu.Pointer, value byte, size int64, s gpu.Stream) error {
	return check("cuMemsetD8Async", api.memset(dst, value, uint64(size), s))
}

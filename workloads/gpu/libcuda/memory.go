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

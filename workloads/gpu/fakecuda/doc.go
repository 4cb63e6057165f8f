// Package fakecuda builds a CUDA driver for tests that needs no GPU: it runs the kernels
// of this repository on the CPU. It is host.h, which makes C++ of CUDA C, and the sources
// in src, which become libcuda.so.1, libcublas.so.12 and libnvidia-ml.so.1. Every folder
// of workloads/gpu that has a kernels.h is compiled in.
//
// cuInit reads the environment:
//
//	FAKECUDA_DEVICES   how many devices (1); 0 is NO_DEVICE
//	FAKECUDA_CC        their compute capability, 10*major + minor (90)
//	FAKECUDA_DRIVER    the CUDA that the driver supports, 1000*major + 10*minor (13000)
//	FAKECUDA_MEM_MB    the memory of each device, in MiB (1024)
//	FAKECUDA_INIT      the code that cuInit answers, such as 34 or 803 (0)
//	FAKECUDA_HANG      a file that cuInit waits to read: indefinitely, if it is a pipe
//	FAKECUDA_FAIL      name:code:nth, separated by commas: the nth call answers the code,
//	                   as in cuMemAlloc_v2:2:3; cublasCreate_v2, cublasSetStream_v2,
//	                   cublasSetMathMode and cublasGemmEx have codes of their own
//	FAKECUDA_LATE      1 leaves the work on streams until something waits for it, so that
//	                   a missing synchronisation shows; what no one waits for never runs
//	FAKECUDA_TRACE     1 writes every call, and why it failed, to stderr
//	FAKECUDA_LEAKS     1 writes what a context still had when it was released to stderr
//
// NVML describes the same devices. It reads the environment at each call: FAKENVML_FAIL is
// name:code, separated by commas, such as nvmlDeviceGetPowerUsage:3; FAKENVML_MIG is 1
// where the process has instances of MIG; and src/nvml.cpp has a variable for each reading.
//
// Memory that no one has written reads as NaN. Found are copies, fills and pointer
// arguments beyond an allocation, a context that is not current, handles that are none,
// memory freed twice, launches beyond the limits, PTX that is out of date, writes of
// kernels up to 256 bytes beyond their memory, and threads that wait at a barrier where
// others have ended. Missing barriers and lost guards give wrong results. What
// BuildSanitized makes finds every access beyond an allocation or an array, and misaligned
// ones. Not seen are what a compiler of PTX would say, races between blocks, and speed.
package fakecuda

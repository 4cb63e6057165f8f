// The calls of the driver that the cases make, as the driver's ABI has them.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {
typedef uint64_t Pointer;
typedef struct context *Context;
typedef struct module *Module;
typedef struct function *Function;
typedef struct stream *Stream;
typedef struct event *Event;
int cuInit(unsigned);
int cuDriverGetVersion(int *);
int cuDeviceGetCount(int *);
int cuDeviceGetName(char *, int, int);
int cuDeviceGetUuid_v2(unsigned char *, int);
int cuDeviceGetAttribute(int *, int, int);
int cuDeviceTotalMem_v2(size_t *, int);
int cuDeviceGetPCIBusId(char *, int, int);
int cuDevicePrimaryCtxRetain(Context *, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuCtxSetCurrent(Context);
int cuCtxSynchronize();
int cuMemGetInfo_v2(size_t *, size_t *);
int cuMemAlloc_v2(Pointer *, size_t);
int cuMemFree_v2(Pointer);
int cuMemHostAlloc(void **, size_t, unsigned);
int cuMemFreeHost(void *);
int cuMemcpyHtoD_v2(Pointer, const void *, size_t);
int cuMemcpyDtoH_v2(void *, Pointer, size_t);
int cuMemcpyHtoDAsync_v2(Pointer, const void *, size_t, Stream);
int cuMemcpyDtoHAsync_v2(void *, Pointer, size_t, Stream);
int cuMemcpyDtoDAsync_v2(Pointer, Pointer, size_t, Stream);
struct Copy2D {
	size_t srcX, srcY;
	int srcMemory;
	const void *srcHost;
	Pointer srcDevice;
	void *srcArray;
	size_t srcPitch, dstX, dstY;
	int dstMemory;
	void *dstHost;
	Pointer dstDevice;
	void *dstArray;
	size_t dstPitch, width, height;
};
int cuMemcpy2DAsync_v2(const Copy2D *, Stream);
int cuMemsetD8Async(Pointer, unsigned char, size_t, Stream);
int cuModuleLoadDataEx(Module *, const void *, unsigned, int *, void **);
int cuModuleUnload(Module);
int cuModuleGetFunction(Function *, Module, const char *);
int cuModuleGetGlobal_v2(Pointer *, size_t *, Module, const char *);
int cuFuncGetAttribute(int *, int, Function);
int cuFuncSetAttribute(Function, int, int);
int cuLaunchKernel(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void **, void **);
int cuStreamCreate(Stream *, unsigned);
int cuStreamDestroy_v2(Stream);
int cuStreamSynchronize(Stream);
int cuStreamQuery(Stream);
int cuStreamWaitEvent(Stream, Event, unsigned);
int cuEventCreate(Event *, unsigned);
int cuEventDestroy_v2(Event);
int cuEventRecord(Event, Stream);
int cuEventSynchronize(Event);
int cuEventElapsedTime(float *, Event, Event);
}

// CUDA C as four compilers read it: clang with no toolkit, nvcc, NVRTC, and, for the
// driver that stands in for a GPU in tests, a C++ compiler of the host.
#pragma once

#if defined(BATCHCTL_HOST)

#include "host.h" // of workloads/gpu/fakecuda

struct alignas(8) float2v {
	float x, y;
};

#elif defined(__CUDACC__)

#define BATCHCTL_DYNAMIC_SHARED(type, name) extern __shared__ type name[]

#else // clang

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define BATCHCTL_DYNAMIC_SHARED(type, name) extern __shared__ type name[]

#define BATCHCTL_INDEX(kind, name)                                                                        \
	struct Batchctl_##name {                                                                              \
		static __device__ __forceinline__ unsigned get_x() { return __nvvm_read_ptx_sreg_##kind##_x(); } \
		static __device__ __forceinline__ unsigned get_y() { return __nvvm_read_ptx_sreg_##kind##_y(); } \
		static __device__ __forceinline__ unsigned get_z() { return __nvvm_read_ptx_sreg_##kind##_z(); } \
		__declspec(property(get = get_x)) unsigned x;                                                    \
		__declspec(property(get = get_y)) unsigned y;                                                    \
		__declspec(property(get = get_z)) unsigned z;                                                    \
	};                                                                                                    \
	extern const __device__ __attribute__((weak)) Batchctl_##name name
BATCHCTL_INDEX(tid, threadIdx);
BATCHCTL_INDEX(ctaid, blockIdx);
BATCHCTL_INDEX(ntid, blockDim);
BATCHCTL_INDEX(nctaid, gridDim);

static __device__ __forceinline__ float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static __device__ __forceinline__ double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
static __device__ __forceinline__ float fminf(float a, float b) { return __builtin_fminf(a, b); }
static __device__ __forceinline__ float fabsf(float a) { return __builtin_fabsf(a); }
static __device__ __forceinline__ float rintf(float a) { return __builtin_rintf(a); }
static __device__ __forceinline__ int min(int a, int b) { return a < b ? a : b; }
static __device__ __forceinline__ int max(int a, int b) { return a > b ? a : b; }

#endif

// Vectors that are loaded and stored at once. clang makes two loads of a struct of 16
// bytes, and one of these.
#if defined(__clang__)
typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef unsigned uint4v __attribute__((ext_vector_type(4)));
typedef double double2v __attribute__((ext_vector_type(2)));
#elif defined(__CUDACC__)
typedef float2 float2v;
typedef float4 float4v;
typedef uint4 uint4v;
typedef double2 double2v;
#endif

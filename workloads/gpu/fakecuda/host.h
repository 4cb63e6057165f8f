// CUDA C as C++17 of the host: what compat.h includes under BATCHCTL_HOST. A kernel then
// is a function that runs one CUDA thread; src/block.cpp runs all those of a block.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

// Each thread of the host runs blocks of its own, so what belongs to a block, and the
// copy of the constants that its module has, are the thread's. Before a launch everything
// that is the thread's is overwritten, and then the constants are set.
#define __shared__ static __thread
#define __constant__ thread_local
#define BATCHCTL_DYNAMIC_SHARED(type, name) type *const name = static_cast<type *>(fakecuda_dynamic_shared())

struct Fakecuda_dim {
	unsigned x, y, z;
};
extern __thread Fakecuda_dim threadIdx, blockIdx, blockDim, gridDim;

void *fakecuda_dynamic_shared();
// __syncthreads lets the other threads of the block run up to their barriers.
void __syncthreads();

static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }

// Only the members are common to clang's vectors, nvcc's and these.
struct alignas(16) float4v {
	float x, y, z, w;
};
struct alignas(16) uint4v {
	unsigned x, y, z, w;
};
struct alignas(16) double2v {
	double x, y;
};

// Kernels that are right, and kernels with a planted bug.
#include "compat.h"

__constant__ float scale[4] = {1, 2, 3, 4};

// times_scale is right, for arrays of any length.
extern "C" __global__ void times_scale(float *out, const float *in, int n) {
	int i = int(blockIdx.x * blockDim.x + threadIdx.x);
	if (i < n) out[i] = in[i] * scale[i % 4];
}

// no_guard writes for every thread, also beyond the array.
extern "C" __global__ void no_guard(float *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

// reverse turns each block around, through shared memory; with_barrier is 0 in the buggy
// launch.
extern "C" __global__ void reverse(float *out, const float *in, int with_barrier) {
	__shared__ float tile[256];
	int start = int(blockIdx.x * blockDim.x);
	tile[threadIdx.x] = in[start + int(threadIdx.x)];
	if (with_barrier) __syncthreads();
	out[start + int(threadIdx.x)] = tile[blockDim.x - 1 - threadIdx.x];
}

// shift reads what the thread before has written: in one order of the threads that works
// without a barrier as well.
extern "C" __global__ void shift(float *out, const float *in, int with_barrier) {
	__shared__ float tile[256];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	tile[threadIdx.x] = in[i];
	if (with_barrier) __syncthreads();
	out[i] = threadIdx.x > 0 ? tile[threadIdx.x - 1] : 0;
}

// sum_dynamic adds what it puts into n floats of dynamic shared memory.
extern "C" __global__ void sum_dynamic(float *out, int n) {
	BATCHCTL_DYNAMIC_SHARED(float, values);
	for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) values[i] = 1;
	__syncthreads();
	if (threadIdx.x > 0) return;
	float sum = 0;
	for (int i = 0; i < n; i++) sum += values[i];
	*out = sum;
}

// stale reads shared memory that nobody has written.
extern "C" __global__ void stale(float *out) {
	__shared__ float tile[4];
	BATCHCTL_DYNAMIC_SHARED(float, more);
	out[0] = tile[threadIdx.x];
	out[1] = more[threadIdx.x];
	tile[threadIdx.x] = more[threadIdx.x] = 1;
}

// some_leave ends in half of its threads before the barrier.
extern "C" __global__ void some_leave(int n) {
	if (int(threadIdx.x) >= n) return;
	__syncthreads();
}

// where records the place of each thread, in x, y and z of both.
extern "C" __global__ void where(unsigned *out) {
	unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
	out[i] = i;
}

// mixed takes one argument of each type.
extern "C" __global__ void mixed(double *out, int a, unsigned b, long long c, float d, double e) { *out = a + b + double(c) + double(d) + e; }

// vector moves 16 bytes at once.
extern "C" __global__ void vector(float *out, const float *in) {
	float4v v = reinterpret_cast<const float4v *>(in)[threadIdx.x];
	reinterpret_cast<float4v *>(out)[threadIdx.x] = float4v{v.w, v.z, v.y, v.x};
}

// bounded is launched with 64 threads at most.
extern "C" __global__ void __launch_bounds__(64) bounded() {}

// row sums n numbers of shared memory, of which there are 64.
extern "C" __global__ void row(float *out, int n) {
	__shared__ float tile[64];
	for (int i = 0; i < n; i++) tile[i] = 1;
	*out = tile[0];
}

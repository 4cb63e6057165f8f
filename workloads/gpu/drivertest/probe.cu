// Kernels by which a binding is tested, one for each thing that it can get wrong.
#include "compat.h"

// Every type of argument, written out in cells of 8 bytes.
extern "C" __global__ void probe_arguments(long long *cells, int a, unsigned b, long long c, float d, double e) {
	cells[0] = a;
	cells[1] = b;
	cells[2] = c;
	double *numbers = (double *)cells;
	numbers[3] = d;
	numbers[4] = e;
}

// Where a thread is: its index, its block's, and both sizes, 12 numbers for each thread.
extern "C" __global__ void probe_indices(unsigned *out) {
	unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	unsigned *at = out + 12 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
	at[0] = threadIdx.x;
	at[1] = threadIdx.y;
	at[2] = threadIdx.z;
	at[3] = blockIdx.x;
	at[4] = blockIdx.y;
	at[5] = blockIdx.z;
	at[6] = blockDim.x;
	at[7] = blockDim.y;
	at[8] = blockDim.z;
	at[9] = gridDim.x;
	at[10] = gridDim.y;
	at[11] = gridDim.z;
}

// One block reverses n numbers, all of which are in dynamic shared memory at once.
extern "C" __global__ void probe_reverse(unsigned *out, const unsigned *in, int n) {
	BATCHCTL_DYNAMIC_SHARED(unsigned, held);
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		held[i] = in[i];
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[i] = held[n - 1 - i];
}

__constant__ unsigned probe_table[16];

// The table in constant memory, read by 16 threads.
extern "C" __global__ void probe_constant(unsigned *out) {
	out[threadIdx.x] = probe_table[threadIdx.x];
}

// One step of a generator for each number, so many times: the results of kernels that ran
// in another order, or at the same time, differ.
extern "C" __global__ void probe_steps(unsigned *numbers, unsigned add, int times) {
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned x = numbers[i];
	for (int t = 0; t < times; t++)
		x = x * 1664525u + add;
	numbers[i] = x;
}

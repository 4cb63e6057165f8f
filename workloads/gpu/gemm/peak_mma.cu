// The same as peak.cu for the tensor cores.
#include "mma.cuh"

namespace gemm {

// Each of these multiplies matrices whose elements are all the same.
struct ChainTf32 {
	float c[4];
	__device__ __forceinline__ void add(unsigned w) { multiply_tf32(c, {w, w, w, w}, {w, w}); }
};
struct ChainBf16 {
	float c[4];
	__device__ __forceinline__ void add(unsigned w) { multiply_bf16(c, {w, w, w, w}, {w, w}); }
};
struct ChainF64 {
	double c[2];
	__device__ __forceinline__ void add(double w) { multiply_f64(c, {w}, {w}); }
};

} // namespace gemm

extern "C" __global__ void __launch_bounds__(256) gemm_peak_tf32(float *never, int rounds, unsigned word) { gemm::peak_mma<gemm::ChainTf32>(never, rounds, word); }
extern "C" __global__ void __launch_bounds__(256) gemm_peak_bf16(float *never, int rounds, unsigned word) { gemm::peak_mma<gemm::ChainBf16>(never, rounds, word); }
extern "C" __global__ void __launch_bounds__(256) gemm_peak_f64_mma(double *never, int rounds, double word) { gemm::peak_mma<gemm::ChainF64>(never, rounds, word); }

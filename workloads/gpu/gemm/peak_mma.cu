// The same as peak.cu for the tensor cores.
#include "warp.h"

namespace gemm {

// A round of a warp is mmaChains * mmaLinks multiplications of warp.h.
constexpr int mmaChains = 8, mmaLinks = 4;

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

// peak_mma writes only what cannot be: no sum of squares is below zero.
template <typename Chain, typename Word, typename T> __device__ __forceinline__ void peak_mma(T *never, int rounds, Word word) {
	Chain x[mmaChains] = {};
	for (int r = 0; r < rounds; r++)
#pragma unroll
		for (int l = 0; l < mmaLinks; l++)
#pragma unroll
			for (int i = 0; i < mmaChains; i++)
				x[i].add(word);
	T sum = 0;
#pragma unroll
	for (int i = 0; i < mmaChains; i++)
		for (T c : x[i].c)
			sum += c;
	if (sum < 0)
		*never = sum;
}

} // namespace gemm

extern "C" __global__ void __launch_bounds__(256) gemm_peak_tf32(float *never, int rounds, unsigned word) { gemm::peak_mma<gemm::ChainTf32>(never, rounds, word); }
extern "C" __global__ void __launch_bounds__(256) gemm_peak_bf16(float *never, int rounds, unsigned word) { gemm::peak_mma<gemm::ChainBf16>(never, rounds, word); }
extern "C" __global__ void __launch_bounds__(256) gemm_peak_f64_mma(double *never, int rounds, double word) { gemm::peak_mma<gemm::ChainF64>(never, rounds, word); }

// The precisions and kernels of mma.cuh for every card with such tensor cores.
#include "mma.cuh"

namespace gemm {

// Each precision says which multiplication of warp.h it uses, MmaM x 8 with MmaDepth, how
// many words of A, B and C a lane has of it, how many columns of C a warp computes, and
// by how many bytes a row of B is longer in shared memory.
struct Tf32 {
	typedef float T;
	typedef unsigned Word;
	typedef float Sum;
	static constexpr int MmaM = 16, MmaDepth = 8, WordsA = 4, WordsB = 2, Sums = 4, WarpN = 64, PadB = 32;
	__device__ __forceinline__ static void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { multiply_tf32(c, a, b); }
};

struct Bf16 {
	typedef unsigned short T;
	typedef unsigned Word;
	typedef float Sum;
	static constexpr int MmaM = 16, MmaDepth = 16, WordsA = 4, WordsB = 2, Sums = 4, WarpN = 64, PadB = 16;
	__device__ __forceinline__ static void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { multiply_bf16(c, a, b); }
};

struct F64 {
	typedef double T;
	typedef double Word;
	typedef double Sum;
	static constexpr int MmaM = 8, MmaDepth = 4, WordsA = 1, WordsB = 1, Sums = 2, WarpN = 32, PadB = 32;
	__device__ __forceinline__ static void multiply(double (&c)[2], const double (&a)[1], const double (&b)[1]) { multiply_f64(c, a, b); }
};

} // namespace gemm

#define GEMM_MMA_KERNEL(name, precision, aligned)                                                                              \
	extern "C" __global__ void __launch_bounds__(gemm::threads, 1)                                                             \
		name(gemm::precision::T *c, const gemm::precision::T *a, const gemm::precision::T *b, int m, int n, int depth) {       \
		gemm::multiply_tile<gemm::precision, aligned>(c, a, b, m, n, depth);                                                   \
	}

GEMM_MMA_KERNEL(gemm_tf32, Tf32, true)
GEMM_MMA_KERNEL(gemm_tf32_any, Tf32, false)
GEMM_MMA_KERNEL(gemm_bf16, Bf16, true)
GEMM_MMA_KERNEL(gemm_bf16_any, Bf16, false)
GEMM_MMA_KERNEL(gemm_f64_mma, F64, true)
GEMM_MMA_KERNEL(gemm_f64_mma_any, F64, false)

// Matrix products on the tensor cores of Hopper, which their older instructions, those of
// mma.cu, do not fill: bfloat16 and TF32, where all is aligned.
//
// A block of two warpgroups computes a tile of C, walking along the depth in steps of 128
// bytes. Of four stages in shared memory the multiplications read two, this step's and the
// one before, while copies fill the other two for the next steps. A warpgroup starts this
// step's multiplications before it waits for the last step's, so that the tensor cores
// always have some to go on with. One barrier for each step says both that all copies of a
// step have arrived and that all have done with the stage that is filled next.
#include "mma.cuh"
#include "wgmma.h"

namespace gemm {
namespace hopper {

// F64 and ChainF64 are for mma.cuh: Hopper multiplies float64 twice as fast by instructions
// that are larger than Ampere's. The larger of its three sizes are no faster in the product,
// because their operands leave too few registers, but a little so in the peak.
struct F64 {
	typedef double T;
	typedef double Word;
	typedef double Sum;
	static constexpr int MmaM = 16, MmaDepth = 4, WordsA = 2, WordsB = 1, Sums = 4, WarpN = 32, PadB = 32;
	__device__ __forceinline__ static void multiply(double (&c)[4], const double (&a)[2], const double (&b)[1]) { multiply_f64(c, a, b); }
};

struct ChainF64 {
	double c[4];
	__device__ __forceinline__ void add(double w) { multiply_f64(c, {w, w, w, w}, {w, w}); }
};

constexpr int threads = 256, stages = 4, ahead = stages - 2, inAtom = atomRow / chunk;

// Of A a thread brings a chunk in every 32nd row. These are all at the same place in their
// atoms' rows.
constexpr int apart = threads / inAtom;

__device__ __forceinline__ int place_in_a(int i) {
	int thread = threadIdx.x;
	return place_in_atom(thread / inAtom, thread % inAtom) + i * apart * atomRow;
}

// Source is where the parts of A and B of a block's tile are. A row of A below the matrix is
// its last one again, because what comes of it is not stored.
template <typename P> struct Source {
	const typename P::T *a, *b;
	int m, n, depth, row, column;

	__device__ __forceinline__ void copy_step(Copies &copies, char *stage, int k) const {
		int thread = threadIdx.x;
#pragma unroll
		for (int i = 0; i < P::CopiesA; i++) {
			int r = i * apart + thread / inAtom, right = thread % inAtom * P::Piece;
			copies.start(stage + place_in_a(i), a + (long long)min(row + r, m - 1) * depth + k + right, k + right < depth ? chunk : 0);
		}
#pragma unroll
		for (int i = 0; i < P::CopiesB; i++) {
			constexpr int across = P::N / P::Piece;
			int r = thread / across, c = thread % across, down = i * (threads / across), d = k + r + down, at = column + c * P::Piece;
			copies.start(stage + P::place_b(r, c) + down * P::PitchB, b + (long long)d * n + at, d < depth && at < n ? chunk : 0);
		}
	}
};

// Bf16 computes 128x256 of C, each warpgroup 64 rows. A stage has A's part, in 128 rows, and
// then four parts of 64 columns of B, each in 64 rows.
struct Bf16 {
	typedef unsigned short T;
	static constexpr int M = 128, N = 256, Depth = 64, Piece = 8;
	static constexpr int BytesA = M * atomRow, PitchB = atomRow, GroupB = Depth * atomRow, Bytes = BytesA + N / 64 * GroupB;
	static constexpr int CopiesA = M * inAtom / threads, CopiesB = Depth * N / Piece / threads;
	float sums[sumsOfLane];

	__device__ __forceinline__ static int place_b(int row, int c) { return BytesA + c / inAtom * GroupB + place_in_atom(row, c % inAtom); }
	__device__ __forceinline__ void round_a(char *) const {}

	__device__ __forceinline__ void start(Products &products, const char *stage, int) {
		const char *a = stage + threadIdx.x / 128 * 64 * atomRow, *b = stage + BytesA;
		products.fence();
#pragma unroll
		for (int k = 0; k < Depth; k += 16)
			products.bf16(sums, a + k * 2, b + k * atomRow, GroupB);
		products.commit();
	}

	__device__ __forceinline__ void store(T *c, int row, int column, int m, int n) const {
		int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
		for (int h = 0; h < 2; h++) {
			int r = row + warp * 16 + h * 8 + lane / 4;
			if (r >= m)
				continue;
#pragma unroll
			for (int j = 0; j < N / 8; j++) {
				int at = column + j * 8 + lane % 4 * 2;
				if (at < n)
					*reinterpret_cast<unsigned *>(c + (long long)r * n + at) = pack_bf16(sums[4 * j + 2 * h], sums[4 * j + 2 * h + 1]);
			}
		}
	}
};

// Tf32 computes 256x128 of C, and transposed: the multiplication for TF32 takes an operand
// from shared memory only with the depth along a row, as A has it and B has not. So the
// words of B, which may come from registers, are its first operand, and A the second.
//
// B is rounded to TF32 in registers, A in shared memory: each thread rounds the chunks that it
// copied, so no barrier comes between. The copies need no registers while they are under way.
struct Tf32 {
	typedef float T;
	static constexpr int M = 256, N = 128, Depth = 32, Piece = 4;
	// With 32 bytes more a row of B is in other banks than the three above it.
	static constexpr int BytesA = M * atomRow, PitchB = N * 4 + 32, Bytes = (BytesA + Depth * PitchB + atom - 1) / atom * atom;
	static constexpr int CopiesA = M * inAtom / threads, CopiesB = Depth * N / Piece / threads;
	float sums[sumsOfLane];
	unsigned words[2][Depth / 8][4];

	__device__ __forceinline__ static int place_b(int row, int c) { return BytesA + row * PitchB + c * chunk; }

	__device__ __forceinline__ void round_a(char *stage) const {
#pragma unroll
		for (int i = 0; i < CopiesA; i++) {
			uint4v *at = reinterpret_cast<uint4v *>(stage + place_in_a(i)), four = *at;
			// clang 19 rounds the first element four times if round_tf32 is in the braces of the vector.
			unsigned x = round_tf32(four.x), y = round_tf32(four.y), z = round_tf32(four.z), w = round_tf32(four.w);
			*at = {x, y, z, w};
		}
	}

	__device__ __forceinline__ void start(Products &products, const char *stage, int parity) {
		int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
		const char *b = stage + BytesA + lane % 4 * PitchB + (warp * 16 + lane / 4) * 4;
		auto &now = words[parity];
#pragma unroll
		for (int k = 0; k < Depth / 8; k++)
#pragma unroll
			for (int w = 0; w < 4; w++)
				now[k][w] = round_tf32(*reinterpret_cast<const unsigned *>(b + (8 * k + w / 2 * 4) * PitchB + w % 2 * 32));
		products.fence();
#pragma unroll
		for (int k = 0; k < Depth / 8; k++)
			products.tf32(sums, now[k], stage + k * 32);
		products.commit();
	}

	__device__ __forceinline__ void store(T *c, int row, int column, int m, int n) const {
		int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
		for (int j = 0; j < M / 8; j++)
#pragma unroll
			for (int i = 0; i < 4; i++) {
				int r = row + j * 8 + lane % 4 * 2 + i % 2, at = column + warp * 16 + lane / 4 + i / 2 * 8;
				if (r < m && at < n)
					c[(long long)r * n + at] = sums[4 * j + i];
			}
	}
};

// multiply_tile computes a block's tile of C = A B.
template <typename P> __device__ __forceinline__ void multiply_tile(typename P::T *c, const typename P::T *a, const typename P::T *b, int m, int n, int depth) {
	BATCHCTL_DYNAMIC_SHARED(uint4v, shared);
	char *start = first_atom(reinterpret_cast<char *>(shared));
	Tile tile = tile_of(blockIdx.x, tiles(m, P::M), tiles(n, P::N));
	Source<P> source = {a, b, m, n, depth, tile.row * P::M, tile.column * P::N};
	Copies copies;
	Products products;
	P part = {};

#pragma unroll
	for (int s = 0; s < ahead; s++) {
		source.copy_step(copies, start + s * P::Bytes, s * P::Depth);
		copies.commit();
	}
	int step = 0;
#pragma unroll 1
	do {
#pragma unroll
		for (int parity = 0; parity < 2; parity++, step++) { // of an odd number the last adds zeros
			char *stage = start + step % stages * P::Bytes;
			copies.wait<ahead - 1>();
			part.round_a(stage);
			publish();
			__syncthreads();
			part.start(products, stage, parity);
			source.copy_step(copies, start + (step + ahead) % stages * P::Bytes, (step + ahead) * P::Depth);
			copies.commit();
			products.wait<1>();
		}
	} while (step * P::Depth < depth);
	products.wait<0>();
	copies.wait<0>();
	part.store(c, source.row, source.column, m, n);
}

// peak writes only what cannot be: no sum of squares is below zero. A round is peakLinks
// multiplications of words that are all the same.
constexpr int peakLinks = 4;

template <bool OfTf32> __device__ __forceinline__ void peak(float *never, int rounds, unsigned word) {
	alignas(atom) __shared__ unsigned a[64 * atomRow / 4];
	alignas(atom) __shared__ unsigned b[256 * atomRow / 4];
	for (int i = threadIdx.x; i < 256 * atomRow / 4; i += threads)
		b[i] = a[i % (64 * atomRow / 4)] = word;
	publish();
	__syncthreads();
	Products products;
	float sums[sumsOfLane] = {};
	const unsigned *mine = a + threadIdx.x;
	unsigned words[4] = {mine[0], mine[threads], mine[2 * threads], mine[3 * threads]};
	const char *first = reinterpret_cast<const char *>(a), *second = reinterpret_cast<const char *>(b);
	// ptxas 12.4 takes a minute to unroll the loop.
#pragma unroll 1
	do {
		products.fence();
#pragma unroll
		for (int l = 0; l < peakLinks; l++)
			if constexpr (OfTf32)
				products.tf32(sums, words, second + l * 32);
			else
				products.bf16(sums, first + l * 32, second + l * 16 * atomRow, 64 * atomRow);
		products.commit();
		products.wait<0>();
	} while (--rounds > 0);
	float sum = 0;
#pragma unroll
	for (int i = 0; i < sumsOfLane; i++)
		sum += sums[i];
	if (sum < 0)
		*never = sum;
}

} // namespace hopper
} // namespace gemm

#define GEMM_WGMMA_KERNEL(name, precision)                                                                                        \
	extern "C" __global__ void __launch_bounds__(gemm::hopper::threads, 1)                                                        \
		name(gemm::hopper::precision::T *c, const gemm::hopper::precision::T *a, const gemm::hopper::precision::T *b, int m, int n, int depth) { \
		gemm::hopper::multiply_tile<gemm::hopper::precision>(c, a, b, m, n, depth);                                               \
	}

GEMM_WGMMA_KERNEL(gemm_bf16_wgmma, Bf16)
GEMM_WGMMA_KERNEL(gemm_tf32_wgmma, Tf32)

extern "C" __global__ void __launch_bounds__(gemm::hopper::threads) gemm_peak_tf32_wgmma(float *never, int rounds, unsigned word) { gemm::hopper::peak<true>(never, rounds, word); }
extern "C" __global__ void __launch_bounds__(gemm::hopper::threads) gemm_peak_bf16_wgmma(float *never, int rounds, unsigned word) { gemm::hopper::peak<false>(never, rounds, word); }

extern "C" __global__ void __launch_bounds__(256) gemm_peak_f64_hopper(double *never, int rounds, double word) { gemm::peak_mma<gemm::hopper::ChainF64>(never, rounds, word); }
extern "C" __global__ void __launch_bounds__(gemm::threads, 1) gemm_f64_hopper(double *c, const double *a, const double *b, int m, int n, int depth) { gemm::multiply_tile<gemm::hopper::F64, true>(c, a, b, m, n, depth); }

// Matrix products by multiply-adds, for every card from Volta on.
//
// A block computes a tile of C. It walks along the depth in steps of 8: the part of A
// and B that the next step needs comes from global memory into registers while this step
// computes out of shared memory, of which there are two buffers, so that one barrier for
// each step is enough. Within a step the next column of A and row of B come into
// registers while the present ones are multiplied: each thread adds the outer product of
// a column of A and a row of B to its part of C, which stays in registers.
//
// The warp's part of C is cut into pieces of 16 bytes. A thread has pieces that are
// apart from one another, so that the warp reads 128 bytes in a row of A's column (8
// lanes along m) and 64 of B's row (4 lanes along n), without a bank conflict.
#include "tiles.h"

namespace gemm {

template <typename T> struct VectorOf;
template <> struct VectorOf<float> {
	typedef float4v type;
};
template <> struct VectorOf<double> {
	typedef double2v type;
};

// Shape is how a block's tile of C is shared out: warps along m and n, and for each
// thread pieces of Piece elements along m and n.
template <typename Element, int WarpsM, int WarpsN, int PiecesM, int PiecesN> struct Shape {
	typedef Element T;
	typedef typename VectorOf<T>::type Vector;
	static constexpr int Piece = 16 / sizeof(T);
	static constexpr int LanesM = 8, LanesN = 4;
	static constexpr int WarpM = PiecesM * LanesM * Piece, WarpN = PiecesN * LanesN * Piece;
	static constexpr int M = WarpsM * WarpM, N = WarpsN * WarpN, Depth = 8;
	static constexpr int Threads = 32 * WarpsM * WarpsN;
	static constexpr int ThreadM = PiecesM * Piece, ThreadN = PiecesN * Piece;
	static constexpr int AlongM = PiecesM, AlongN = PiecesN, ColumnsOfWarps = WarpsN;
	// A is transposed in shared memory. One more piece in each row of it keeps the stores of
	// a warp, which go down 8 or 4 such rows, in different banks.
	static constexpr int PitchA = M + Piece;
};

// copy_piece moves 16 bytes at once; both sides are aligned to that.
template <typename S> __device__ __forceinline__ void copy_piece(typename S::T *to, const typename S::T *from) {
	*reinterpret_cast<typename S::Vector *>(to) = *reinterpret_cast<const typename S::Vector *>(from);
}

// Step is one step's part of A and B in shared memory.
template <typename S> struct alignas(16) Step {
	typename S::T a[S::Depth][S::PitchA];
	typename S::T b[S::Depth][S::N];
};

// Loader brings a step's part of A and B from global memory, V elements at once. Rows of
// A and columns of B beyond the matrix are read from its last, because what comes of
// them is not stored; what is beyond the depth counts as zero.
template <typename S, int V> struct Loader {
	typedef typename S::T T;
	static constexpr int LoadsA = S::M * S::Depth / S::Threads / V, LoadsB = S::N * S::Depth / S::Threads / V;
	static constexpr int PerRowA = S::Depth / V, PerRowB = S::N / V;

	const T *a, *b;
	int m, n, depth, row, column;
	alignas(16) T fromA[LoadsA][V];
	alignas(16) T fromB[LoadsB][V];

	__device__ __forceinline__ static void load(T (&to)[V], const T *from, bool inside) {
#pragma unroll
		for (int j = 0; j < V; j++)
			to[j] = 0;
		if (inside) {
			if constexpr (V == S::Piece)
				copy_piece<S>(to, from);
			else
				to[0] = *from;
		}
	}

	__device__ __forceinline__ void fetch(int k) {
		int thread = threadIdx.x;
#pragma unroll
		for (int i = 0; i < LoadsA; i++) {
			int at = i * S::Threads + thread;
			int r = min(row + at / PerRowA, m - 1), d = k + at % PerRowA * V;
			load(fromA[i], a + (long long)r * depth + d, d < depth);
		}
#pragma unroll
		for (int i = 0; i < LoadsB; i++) {
			int at = i * S::Threads + thread;
			int d = k + at / PerRowB, c = min(column + at % PerRowB * V, n - V);
			load(fromB[i], b + (long long)d * n + c, d < depth);
		}
	}

	__device__ __forceinline__ void store(Step<S> &step) const {
		int thread = threadIdx.x;
#pragma unroll
		for (int i = 0; i < LoadsA; i++) {
			int at = i * S::Threads + thread;
#pragma unroll
			for (int j = 0; j < V; j++)
				step.a[at % PerRowA * V + j][at / PerRowA] = fromA[i][j];
		}
#pragma unroll
		for (int i = 0; i < LoadsB; i++) {
			int at = i * S::Threads + thread;
			T *to = &step.b[at / PerRowB][at % PerRowB * V];
			if constexpr (V == S::Piece)
				copy_piece<S>(to, fromB[i]);
			else
				*to = fromB[i][0];
		}
	}
};

// Place is where in the block's tile the thread's first piece is. Neighbouring lanes
// share a piece of A, the next but one a piece of B: shared memory serves 16 lanes at
// once when that holds.
template <typename S> struct Place {
	int row, column;
	__device__ __forceinline__ Place() {
		int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
		int along_m = (lane >> 1 & 1) | (lane >> 2 & 6), along_n = (lane & 1) | (lane >> 1 & 2);
		row = warp / S::ColumnsOfWarps * S::WarpM + along_m * S::Piece;
		column = warp % S::ColumnsOfWarps * S::WarpN + along_n * S::Piece;
	}
};

// Factors is a thread's part of a column of A and of a row of B.
template <typename S> struct Factors {
	alignas(16) typename S::T a[S::ThreadM];
	alignas(16) typename S::T b[S::ThreadN];

	__device__ __forceinline__ void read(const Step<S> &step, int d, Place<S> place) {
#pragma unroll
		for (int i = 0; i < S::AlongM; i++)
			copy_piece<S>(a + i * S::Piece, &step.a[d][place.row + i * S::LanesM * S::Piece]);
#pragma unroll
		for (int j = 0; j < S::AlongN; j++)
			copy_piece<S>(b + j * S::Piece, &step.b[d][place.column + j * S::LanesN * S::Piece]);
	}
};

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }

// store_row writes a thread's part of a row of C, pieces whole or, for sizes that do not
// allow it, element by element.
template <typename S, bool Aligned>
__device__ __forceinline__ void store_row(typename S::T *to, const typename S::T *sums, int column, int n) {
#pragma unroll
	for (int j = 0; j < S::AlongN; j++) {
		int at = column + j * S::LanesN * S::Piece;
		if constexpr (Aligned) {
			if (at < n)
				copy_piece<S>(to + at, sums + j * S::Piece);
		} else {
#pragma unroll
			for (int x = 0; x < S::Piece; x++)
				if (at + x < n)
					to[at + x] = sums[j * S::Piece + x];
		}
	}
}

// multiply computes a block's tile of C = A B. Aligned promises pointers to multiples of
// 16 bytes and rows of A and B, hence of C, that are.
template <typename S, bool Aligned>
__device__ __forceinline__ void multiply(typename S::T *c, const typename S::T *a, const typename S::T *b, int m, int n, int depth) {
	__shared__ Step<S> steps[2];
	// The tile's place stays in shared memory, because the loop needs all registers.
	__shared__ Tile tile;
	if (threadIdx.x == 0)
		tile = tile_of(blockIdx.x, tiles(m, S::M), tiles(n, S::N));
	__syncthreads();
	Loader<S, Aligned ? S::Piece : 1> loader = {a, b, m, n, depth, tile.row * S::M, tile.column * S::N, {}, {}};
	Place<S> place;
	alignas(16) typename S::T sums[S::ThreadM][S::ThreadN] = {};
	Factors<S> factors[2];

	loader.fetch(0);
	loader.store(steps[0]);
	__syncthreads();
	factors[0].read(steps[0], 0, place);
	int buffer = 0;
	for (int k = 0; k < depth; k += S::Depth) {
		loader.fetch(k + S::Depth); // beyond the depth it is zeros, which nobody reads
#pragma unroll
		for (int d = 0; d < S::Depth; d++) {
			if (d == S::Depth - 1) {
				buffer ^= 1;
				loader.store(steps[buffer]);
				__syncthreads();
			}
			factors[(d + 1) % 2].read(steps[buffer], (d + 1) % S::Depth, place);
			if (d == S::Depth - 1)
				keep_reads();
#pragma unroll
			for (int i = 0; i < S::ThreadM; i++)
#pragma unroll
				for (int j = 0; j < S::ThreadN; j++)
					sums[i][j] = multiply_add(factors[d % 2].a[i], factors[d % 2].b[j], sums[i][j]);
		}
	}

#pragma unroll
	for (int i = 0; i < S::ThreadM; i++) {
		int row = tile.row * S::M + place.row + i / S::Piece * S::LanesM * S::Piece + i % S::Piece;
		if (row < m)
			store_row<S, Aligned>(c + (long long)row * n, sums[i], tile.column * S::N + place.column, n);
	}
}

// Where a multiprocessor multiplies 64 float32 numbers in a clock, 8x8 for each thread
// keep them busy. Where it multiplies 128, shared memory would become the limit: 16
// columns for each thread read a quarter less of it.
//
// cuda/testdata/assembly.txt has the registers and the loops that ptxas makes of them: 8 steps are 512 multiply-adds, or
// 1024 with Float32Wide. Two blocks fit into a multiprocessor with each.
typedef Shape<float, 2, 4, 2, 2> Float32;     // 128x128, 256 threads of 8x8
typedef Shape<float, 2, 2, 2, 4> Float32Wide; // 128x128, 128 threads of 8x16
typedef Shape<double, 2, 2, 4, 4> Float64;    // 128x64, 128 threads of 8x8

} // namespace gemm

#define GEMM_KERNEL(name, shape, aligned, blocks)                                                                   \
	extern "C" __global__ void __launch_bounds__(gemm::shape::Threads, blocks)                                      \
		name(gemm::shape::T *c, const gemm::shape::T *a, const gemm::shape::T *b, int m, int n, int depth) {        \
		gemm::multiply<gemm::shape, aligned>(c, a, b, m, n, depth);                                                 \
	}

GEMM_KERNEL(gemm_f32, Float32, true, 2)
GEMM_KERNEL(gemm_f32_wide, Float32Wide, true, 2)
GEMM_KERNEL(gemm_f32_any, Float32Wide, false, 2)
GEMM_KERNEL(gemm_f64, Float64, true, 2)
GEMM_KERNEL(gemm_f64_any, Float64, false, 2)

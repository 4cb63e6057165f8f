// Matrix products on the tensor cores, for cards from Ampere on: TF32, bfloat16, and
// float64 where the card has tensor cores for it.
//
// A block of 8 warps computes a tile of C, walking along the depth in steps of 64 bytes.
// Copies that run by themselves bring the parts of A and B for the next three steps into
// shared memory while this one is computed: of four stages one is read and three are on
// their way. A step is two multiplications of the tensor cores deep; while one is under
// way the operands of the next come into registers, also across the barrier between two
// steps.
//
// A row of B's part is so much longer in shared memory, and the order of the chunks of 16
// bytes in a row of A's is so changed by the row's number, that neither the copies nor
// the reads of a warp meet in a bank.
#pragma once

#include "tiles.h"
#include "warp.h"

namespace gemm {

constexpr int warpsM = 2, warpsN = 4, warpM = 64, threads = 32 * warpsM * warpsN, tileM = warpsM * warpM;
constexpr int stages = 4, chunk = 16;

// Stage is where a step's part of A and B lies in shared memory: 128 rows of 64 bytes of
// A, then a row of the tile's columns for each element of depth. The places are in bytes.
template <typename P> struct Stage {
	static constexpr int Size = sizeof(typename P::T), Piece = chunk / Size;
	static constexpr int Depth = 2 * P::MmaDepth, PitchA = Depth * Size, Columns = warpsN * P::WarpN, PitchB = Columns * Size + P::PadB;
	static constexpr int BytesA = tileM * PitchA, Bytes = BytesA + Depth * PitchB;

	// A chunk of eight rows of A that follow one another is in other banks in each: by itself
	// in the second row, because a row is as long as half of the banks, and by the change of
	// order from two rows to the next. So are two chunks of four rows.
	__device__ __forceinline__ static int place_a(int row, int c) {
		static_assert(PitchA == 64);
		return row * PitchA + (c ^ (row & 2) ^ (row >> 2 & 1)) * chunk;
	}
	__device__ __forceinline__ static int place_b(int row, int column) { return BytesA + row * PitchB + column * Size; }
};

// bring copies a chunk, of which the first count elements are there and the others count
// as zero. Where chunks are not aligned it is no copy beside the threads but reads and a
// write.
template <typename P, bool Aligned> __device__ __forceinline__ void bring(Copies &copies, char *to, const typename P::T *from, int count) {
	if constexpr (Aligned) {
		copies.start(to, from, count > 0 ? chunk : 0);
	} else {
		constexpr int piece = Stage<P>::Piece;
		alignas(chunk) typename P::T elements[piece];
#pragma unroll
		for (int i = 0; i < piece; i++)
			elements[i] = i < count ? from[i] : 0;
		*reinterpret_cast<uint4v *>(to) = *reinterpret_cast<const uint4v *>(elements);
	}
}

// Source brings the parts of A and B of a block's tile. A row of A below the matrix is
// its last one again, because what comes of it is not stored.
template <typename P, bool Aligned> struct Source {
	typedef Stage<P> S;
	static constexpr int ChunksA = S::PitchA / chunk, ChunksB = S::Columns / S::Piece;
	const typename P::T *a, *b;
	int m, n, depth, row, column;

	__device__ __forceinline__ void bring_step(Copies &copies, char *stage, int k) const {
		int thread = threadIdx.x;
#pragma unroll
		for (int i = 0; i < tileM * ChunksA / threads; i++) {
			int r = (i * threads + thread) / ChunksA, c = thread % ChunksA, d = k + c * S::Piece;
			bring<P, Aligned>(copies, stage + S::place_a(r, c), a + (long long)min(row + r, m - 1) * depth + d, depth - d);
		}
#pragma unroll
		for (int i = 0; i < S::Depth * ChunksB / threads; i++) {
			int r = (i * threads + thread) / ChunksB, c = thread % ChunksB * S::Piece, d = k + r, at = column + c;
			bring<P, Aligned>(copies, stage + S::place_b(r, c), b + (long long)d * n + at, d < depth ? n - at : 0);
		}
	}
};

// Operands are a lane's words of the warp's part of A and B for one multiplication deep.
template <typename P> struct Operands {
	typedef Stage<P> S;
	static constexpr int AlongM = warpM / P::MmaM, AlongN = P::WarpN / 8;
	typename P::Word a[AlongM][P::WordsA], b[AlongN][P::WordsB];

	// read takes the multiplication of that number, 0 or 1, of the step.
	__device__ __forceinline__ void read(const char *stage, int number) {
		int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
		int row = warp / warpsN * warpM, column = warp % warpsN * P::WarpN, k = number * P::MmaDepth;
		if constexpr (S::Size < 8)
			read_matrices(stage, row + lane % 16, 2 * number + lane / 16);
		else
			read_a(stage, row + lane / 4, k / 2 + lane % 4 / 2, lane % 2);
		if constexpr (S::Size == 2)
			read_transposed(stage, k + lane % 16, column + lane / 16 * 8);
		else
			read_b(stage, k + lane % 4, column + lane / 4);
	}

	__device__ __forceinline__ void read_matrices(const char *stage, int row, int c) {
#pragma unroll
		for (int i = 0; i < AlongM; i++)
			load_matrices(a[i], stage + S::place_a(row + i * P::MmaM, c));
	}

	// read_a reads words of half a chunk. Of neighbouring ones the second is 8 rows below the
	// first, the third two chunks to the right.
	__device__ __forceinline__ void read_a(const char *stage, int row, int c, int element) {
		constexpr int down = P::MmaM / 8;
#pragma unroll
		for (int i = 0; i < AlongM; i++)
#pragma unroll
			for (int w = 0; w < P::WordsA; w++)
				a[i][w] = reinterpret_cast<const typename P::Word *>(stage + S::place_a(row + i * P::MmaM + w % down * 8, c + w / down * 2))[element];
	}

	__device__ __forceinline__ void read_transposed(const char *stage, int k, int column) {
#pragma unroll
		for (int j = 0; j < AlongN; j += 2) {
			unsigned words[4];
			load_transposed(words, stage + S::place_b(k, column + j * 8));
#pragma unroll
			for (int w = 0; w < 4; w++)
				b[j + w / 2][w % 2] = words[w];
		}
	}

	__device__ __forceinline__ void read_b(const char *stage, int k, int column) {
#pragma unroll
		for (int j = 0; j < AlongN; j++)
#pragma unroll
			for (int w = 0; w < P::WordsB; w++)
				b[j][w] = *reinterpret_cast<const typename P::Word *>(stage + S::place_b(k + 4 * w, column + j * 8));
	}

	// round makes TF32 of what was read. It is called after the multiplication that comes
	// first, so that the tensor cores are busy meanwhile.
	__device__ __forceinline__ void round() {
		if constexpr (S::Size == 4) {
#pragma unroll
			for (int i = 0; i < AlongM; i++)
				round_words(a[i]);
#pragma unroll
			for (int j = 0; j < AlongN; j++)
				round_words(b[j]);
		}
	}

	template <int words> __device__ __forceinline__ static void round_words(unsigned (&w)[words]) {
#pragma unroll
		for (int i = 0; i < words; i++)
			w[i] = round_tf32(w[i]);
	}
};

// store_pair writes two neighbours of a row of C, at once or, for sizes that do not allow
// it, one by one.
template <bool Aligned, typename Pair, typename T> __device__ __forceinline__ void store_pair(T *row, Pair pair, int at, int n) {
	if constexpr (Aligned) {
		if (at < n)
			*reinterpret_cast<Pair *>(row + at) = pair;
	} else {
		alignas(Pair) T both[2];
		*reinterpret_cast<Pair *>(both) = pair;
		if (at < n)
			row[at] = both[0];
		if (at + 1 < n)
			row[at + 1] = both[1];
	}
}

__device__ __forceinline__ float2v pair_of(const float *, float x, float y) { return {x, y}; }
__device__ __forceinline__ double2v pair_of(const double *, double x, double y) { return {x, y}; }
__device__ __forceinline__ unsigned pair_of(const unsigned short *, float x, float y) { return pack_bf16(x, y); }

// Sums are a lane's part of the warp's part of C.
template <typename P> struct Sums {
	static constexpr int AlongM = warpM / P::MmaM, AlongN = P::WarpN / 8;
	typename P::Sum c[AlongM][AlongN][P::Sums];

	__device__ __forceinline__ void add(const Operands<P> &o) {
#pragma unroll
		for (int i = 0; i < AlongM; i++)
#pragma unroll
			for (int j = 0; j < AlongN; j++)
				P::multiply(c[i][j], o.a[i], o.b[j]);
	}

	// store writes the lane's part to C, of which the warp's begins at that row and column.
	template <bool Aligned> __device__ __forceinline__ void store(typename P::T *to, int row, int column, int m, int n) const {
		int lane = threadIdx.x % 32;
#pragma unroll
		for (int i = 0; i < AlongM; i++)
#pragma unroll
			for (int h = 0; h < P::Sums / 2; h++) {
				int r = row + i * P::MmaM + h * 8 + lane / 4;
				if (r >= m)
					continue;
				typename P::T *at = to + (long long)r * n;
#pragma unroll
				for (int j = 0; j < AlongN; j++)
					store_pair<Aligned>(at, pair_of(to, c[i][j][2 * h], c[i][j][2 * h + 1]), column + j * 8 + lane % 4 * 2, n);
			}
	}
};

// multiply computes a block's tile of C = A B. Aligned promises pointers to multiples of
// 16 bytes and rows of A and B, hence of C, that are.
template <typename P, bool Aligned>
__device__ __forceinline__ void multiply_tile(typename P::T *c, const typename P::T *a, const typename P::T *b, int m, int n, int depth) {
	typedef Stage<P> S;
	BATCHCTL_DYNAMIC_SHARED(uint4v, shared);
	char *stage = reinterpret_cast<char *>(shared);
	Tile tile = tile_of(blockIdx.x, tiles(m, tileM), tiles(n, S::Columns));
	Source<P, Aligned> source = {a, b, m, n, depth, tile.row * tileM, tile.column * S::Columns};
	Copies copies;
	Operands<P> operands[2];
	Sums<P> sums = {};

#pragma unroll
	for (int s = 0; s < stages - 1; s++) {
		source.bring_step(copies, stage + s * S::Bytes, s * S::Depth);
		copies.commit();
	}
	copies.wait<stages - 2>();
	__syncthreads();
	operands[0].read(stage, 0);
	operands[0].round();
	int now = 0;
	for (int k = 0; k < depth; k += S::Depth) {
		operands[1].read(stage + now * S::Bytes, 1);
		source.bring_step(copies, stage + (now + stages - 1) % stages * S::Bytes, k + (stages - 1) * S::Depth);
		copies.commit();
		sums.add(operands[0]);
		operands[1].round();

		copies.wait<stages - 2>();
		__syncthreads();
		now = (now + 1) % stages;
		operands[0].read(stage + now * S::Bytes, 0);
		keep_reads();
		sums.add(operands[1]);
		operands[0].round();
	}
	copies.wait<0>();

	int warp = threadIdx.x / 32;
	sums.template store<Aligned>(c, source.row + warp / warpsN * warpM, source.column + warp % warpsN * P::WarpN, m, n);
}

// A round of a warp is mmaChains * mmaLinks multiplications of warp.h.
constexpr int mmaChains = 8, mmaLinks = 4;

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


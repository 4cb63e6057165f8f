// The instructions of warp.h on a host. What a lane shows, the other lanes of its warp
// read after a barrier; a second barrier keeps it until they have.
#pragma once

#include <stdio.h>
#include <stdlib.h>

namespace gemm {

struct Shown {
	unsigned a[4], b[2];
	double x[4], y[2];
	const char *row;
};
static thread_local Shown shown[1024];

struct Lane {
	int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	Shown &mine = shown[threadIdx.x];
	const Shown *warp = shown + threadIdx.x / 32 * 32;
};

// require_aligned ends the program where a card would stop with MISALIGNED_ADDRESS.
static inline void require_aligned(const char *instruction, const void *p) {
	if (reinterpret_cast<uintptr_t>(p) % 16 != 0) {
		fprintf(stderr, "%s at %p, which is no multiple of 16\n", instruction, p);
		abort();
	}
}

// Copies does a copy when its thread waits for the group and not before, so that a kernel
// that does not wait, or lets others read before a barrier, is found.
class Copies {
public:
	void start(void *to, const void *from, int count) {
		require_aligned("cp.async to", to);
		if (count > 0)
			require_aligned("cp.async from", from);
		if (length == most) {
			fprintf(stderr, "cp.async: nobody waits for the copies\n");
			abort();
		}
		started[length++] = {to, from, count, groups};
	}

	void commit() { groups++; }

	template <int last> void wait() {
		int kept = 0;
		for (int i = 0; i < length; i++) {
			const Copy &c = started[i];
			if (c.group >= groups - last) {
				started[kept++] = c;
				continue;
			}
			memset(c.to, 0, 16);
			memcpy(c.to, c.from, c.count);
		}
		length = kept;
	}

private:
	struct Copy {
		void *to;
		const void *from;
		int count, group;
	};
	static constexpr int most = 128;
	Copy started[most];
	int length = 0, groups = 0;
};

static inline void load_matrices(unsigned (&to)[4], const void *row) {
	require_aligned("ldmatrix", row);
	Lane lane;
	lane.mine.row = static_cast<const char *>(row);
	__syncthreads();
	for (int i = 0; i < 4; i++)
		memcpy(&to[i], lane.warp[8 * i + lane.g].row + 4 * lane.t, 4);
	__syncthreads();
}

static inline void load_transposed(unsigned (&to)[4], const void *row) {
	require_aligned("ldmatrix", row);
	Lane lane;
	lane.mine.row = static_cast<const char *>(row);
	__syncthreads();
	for (int i = 0; i < 4; i++) {
		unsigned short low, high;
		memcpy(&low, lane.warp[8 * i + 2 * lane.t].row + 2 * lane.g, 2);
		memcpy(&high, lane.warp[8 * i + 2 * lane.t + 1].row + 2 * lane.g, 2);
		to[i] = low | unsigned(high) << 16;
	}
	__syncthreads();
}

// The element (row, k) of a, and (k, column) of b, in the words that a warp shows.
struct OfTf32 {
	static float element(unsigned word) { return __builtin_bit_cast(float, word & 0xffffe000u); }
	static float a(const Shown *warp, int row, int k) { return element(warp[row % 8 * 4 + k % 4].a[row / 8 + k / 4 * 2]); }
	static float b(const Shown *warp, int k, int column) { return element(warp[column * 4 + k % 4].b[k / 4]); }
};

struct OfBf16 {
	static float element(unsigned word, int k) { return __builtin_bit_cast(float, k % 2 ? word & 0xffff0000u : word << 16); }
	static float a(const Shown *warp, int row, int k) { return element(warp[row % 8 * 4 + k % 8 / 2].a[row / 8 + k / 8 * 2], k); }
	static float b(const Shown *warp, int k, int column) { return element(warp[column * 4 + k % 8 / 2].b[k / 8], k); }
};

template <typename Of, int depth> static inline void multiply_words(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
	Lane lane;
	memcpy(lane.mine.a, a, sizeof a);
	memcpy(lane.mine.b, b, sizeof b);
	__syncthreads();
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < depth; k++)
			c[i] += Of::a(lane.warp, lane.g + i / 2 * 8, k) * Of::b(lane.warp, k, 2 * lane.t + i % 2);
	__syncthreads();
}

static inline void multiply_tf32(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { multiply_words<OfTf32, 8>(c, a, b); }
static inline void multiply_bf16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { multiply_words<OfBf16, 16>(c, a, b); }

static inline void multiply_f64(double (&c)[2], const double (&a)[1], const double (&b)[1]) {
	Lane lane;
	lane.mine.x[0] = a[0];
	lane.mine.y[0] = b[0];
	__syncthreads();
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 4; k++)
			c[i] += lane.warp[lane.g * 4 + k].x[0] * lane.warp[(2 * lane.t + i) * 4 + k].y[0];
	__syncthreads();
}

template <int depth> static inline void multiply_f64(double (&c)[4], const double (&a)[depth / 2], const double (&b)[depth / 4]) {
	Lane lane;
	memcpy(lane.mine.x, a, sizeof a);
	memcpy(lane.mine.y, b, sizeof b);
	__syncthreads();
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < depth; k++)
			c[i] += lane.warp[lane.g * 4 + k % 4].x[i / 2 + k / 4 * 2] * lane.warp[(2 * lane.t + i % 2) * 4 + k % 4].y[k / 4];
	__syncthreads();
}

static inline void multiply_f64(double (&c)[4], const double (&a)[2], const double (&b)[1]) { multiply_f64<4>(c, a, b); }
static inline void multiply_f64(double (&c)[4], const double (&a)[4], const double (&b)[2]) { multiply_f64<8>(c, a, b); }

static inline bool finite_bits(unsigned bits) { return (bits & 0x7f800000u) != 0x7f800000u; }

static inline unsigned round_tf32(unsigned bits) { return finite_bits(bits) ? (bits + 0x1000u) & 0xffffe000u : bits; }

static inline unsigned round_bf16(float value) {
	unsigned bits = __builtin_bit_cast(unsigned, value);
	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return 0x7fff; // what the hardware makes of anything that is not a number
	return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

static inline unsigned pack_bf16(float low, float high) { return round_bf16(low) | round_bf16(high) << 16; }

} // namespace gemm

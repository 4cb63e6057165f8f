// The multiplications of Hopper that four warps, a warpgroup, start together and that run
// beside them, with operands in shared memory.
//
// Shared memory holds such an operand in atoms of 8 rows of 128 bytes that begin at a
// multiple of 1024. In each row the eight chunks of 16 bytes are in another order: chunk c
// of row r is at place c ^ r. place_in_atom says where.
//
// A host does them as late as it may, when a thread waits for them, from what the operands
// then hold. So the tests without a GPU find a kernel that overwrites an operand too early. A
// digest of the second operand finds one that writes it too late, after the start.
#pragma once

#include "warp.h"

namespace gemm {

constexpr int atomRow = 128, atomRows = 8, atom = atomRow * atomRows;

// place_in_atom is the place of a chunk of 16 bytes in rows of 128 bytes.
__device__ __forceinline__ int place_in_atom(int row, int c) { return row * atomRow + (c ^ (row & 7)) * 16; }

// A lane's part of 64x256 sums: with g = lane/4 and t = lane%4, element 4j of warp w is
// (16w+g, 8j+2t), the next its right neighbour, and the next two those 8 rows below.
constexpr int sumsOfLane = 128;

#ifdef BATCHCTL_HOST

static inline const char *swizzled(const char *p) {
	uintptr_t at = reinterpret_cast<uintptr_t>(p);
	return reinterpret_cast<const char *>(at ^ (at >> 7 & 7) << 4);
}

template <typename T> static inline T element_at(const char *p) {
	T value;
	memcpy(&value, swizzled(p), sizeof value);
	return value;
}

// first_atom is the first place for an atom from there on.
static inline char *first_atom(char *p) { return p + (-reinterpret_cast<uintptr_t>(p) & (atom - 1)); }

static inline float bf16_at(const char *p) { return __builtin_bit_cast(float, unsigned(element_at<unsigned short>(p)) << 16); }

// Products keeps what a thread has started until it waits.
class Products {
public:
	void bf16(float (&c)[sumsOfLane], const char *a, const char *b, int groupOfB) { start({c, nullptr, a, b, groupOfB, groups, 0}); }
	void tf32(float (&c)[sumsOfLane], const unsigned (&a)[4], const char *b) { start({c, a, nullptr, b, 0, groups, 0}); }
	void fence() {}
	void commit() { groups++; }

	template <int last> void wait() {
		int kept = 0;
		for (int i = 0; i < length; i++) {
			const Product &p = started[i];
			if (p.group >= groups - last)
				started[kept++] = p;
			else if (p.words)
				run_tf32(p);
			else
				run_bf16(p);
		}
		length = kept;
	}

private:
	struct Product {
		float *c;
		const unsigned *words;
		const char *a, *b;
		int groupOfB, group;
		unsigned digest;
	};
	static constexpr int most = 32;

	static float of_bf16(const Product &p, int k, int n) { return bf16_at(p.b + n / 64 * p.groupOfB + k * atomRow + n % 64 * 2); }
	static float of_tf32(const Product &p, int k, int n) { return OfTf32::element(element_at<unsigned>(p.b + n * atomRow + 4 * k)); }

	// column is that of a lane's sum in C, and of the second operand.
	static int column(int j) { return j / 4 * 8 + threadIdx.x % 4 * 2 + j % 2; }

	// digest_of is a digest of what this thread reads of the second operand.
	static unsigned digest_of(const Product &p) {
		unsigned digest = 0;
		for (int j = 0; j < sumsOfLane; j++)
			for (int k = 0; j % 4 <= 1 && k < (p.words ? 8 : 16); k++)
				digest = digest * 31 + __builtin_bit_cast(unsigned, p.words ? of_tf32(p, k, column(j)) : of_bf16(p, k, column(j)));
		return digest;
	}

	void start(Product p) {
		p.digest = digest_of(p);
		if (length == most) {
			fprintf(stderr, "wgmma: nobody waits for the products\n");
			abort();
		}
		started[length++] = p;
	}

	static void add(const Product &p, int depth, const float *rows, float (*b)(const Product &, int, int)) {
		if (digest_of(p) != p.digest) {
			fprintf(stderr, "wgmma: an operand was written after the start of a product\n");
			abort();
		}
		for (int j = 0; j < sumsOfLane; j++) {
			if (j % 4 > 1)
				continue;
			for (int k = 0; k < depth; k++) {
				float right = b(p, k, column(j));
				p.c[j] += rows[k] * right;
				p.c[j + 2] += rows[depth + k] * right;
			}
		}
	}

	static void run_bf16(const Product &p) {
		float rows[2 * 16];
		int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
		for (int i = 0; i < 2; i++)
			for (int k = 0; k < 16; k++)
				rows[i * 16 + k] = bf16_at(p.a + (row + 8 * i) * atomRow + 2 * k);
		add(p, 16, rows, of_bf16);
	}

	static void run_tf32(const Product &p) {
		Lane lane;
		memcpy(lane.mine.a, p.words, sizeof lane.mine.a);
		__syncthreads();
		float rows[2 * 8];
		for (int i = 0; i < 2; i++)
			for (int k = 0; k < 8; k++)
				rows[i * 8 + k] = OfTf32::a(lane.warp, lane.g + 8 * i, k);
		__syncthreads();
		add(p, 8, rows, of_tf32);
	}

	Product started[most];
	int length = 0, groups = 0;
};

// publish shows what a thread has written to shared memory to the products that any thread
// starts after the next barrier.
static inline void publish() {}

#else

__device__ __forceinline__ char *first_atom(char *p) { return p + (-shared_address(p) & (atom - 1)); }

__device__ __forceinline__ void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// descriptor tells a multiplication where an operand is: its address, the distance between
// its parts along the row of an atom, that between atoms along the column, and the order of
// chunks, all as the PTX manual describes them.
__device__ __forceinline__ unsigned long long descriptor(const char *p, int along, int down) {
	constexpr unsigned long long swizzle128 = 1ull << 62;
	return swizzle128 | (unsigned long long)(down / 16) << 32 | (unsigned long long)(along / 16) << 16 | (shared_address(p) & 0x3ffff) / 16;
}

#define GEMM_SUMS_8(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]), "+f"(c[i + 7])
#define GEMM_SUMS_32(i) GEMM_SUMS_8(i), GEMM_SUMS_8(i + 8), GEMM_SUMS_8(i + 16), GEMM_SUMS_8(i + 24)
#define GEMM_SUMS GEMM_SUMS_32(0), GEMM_SUMS_32(32), GEMM_SUMS_32(64), GEMM_SUMS_32(96)
#define GEMM_NAMES_10(d) "%" #d "0, %" #d "1, %" #d "2, %" #d "3, %" #d "4, %" #d "5, %" #d "6, %" #d "7, %" #d "8, %" #d "9, "
#define GEMM_NAMES                                                                                                                \
	"{" GEMM_NAMES_10() GEMM_NAMES_10(1) GEMM_NAMES_10(2) GEMM_NAMES_10(3) GEMM_NAMES_10(4) GEMM_NAMES_10(5) GEMM_NAMES_10(6)     \
		GEMM_NAMES_10(7) GEMM_NAMES_10(8) GEMM_NAMES_10(9) GEMM_NAMES_10(10) GEMM_NAMES_10(11) "%120, %121, %122, %123, %124, "   \
		"%125, %126, %127}"

// Products are the multiplications that a warpgroup has started, c += a b for 64x256 sums.
// From the start of one to the wait for it, no thread touches its sums or operands.
struct Products {
	// bf16 multiplies 16 deep. A row of a is in a row of an atom; its first element is at a. A
	// row of b is in rows of atoms too, 64 elements in each, and groupOfB bytes further are the
	// next 64.
	__device__ __forceinline__ void bf16(float (&c)[sumsOfLane], const char *a, const char *b, int groupOfB) {
		asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " GEMM_NAMES ", %128, %129, 1, 1, 1, 0, 1;"
		             : GEMM_SUMS
		             : "l"(descriptor(a, 16, atom)), "l"(descriptor(b, groupOfB, atom)));
	}

	// tf32 multiplies 8 deep. The words of a are those of multiply_tf32 for the 16 rows of each
	// warp; a column of b is in a row of an atom, and its first element at b.
	__device__ __forceinline__ void tf32(float (&c)[sumsOfLane], const unsigned (&a)[4], const char *b) {
		asm volatile("wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 " GEMM_NAMES ", {%128, %129, %130, %131}, %132, 1, 1, 1;"
		             : GEMM_SUMS
		             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor(b, 16, atom)));
	}

	// fence comes before the first of those that read registers which the threads have written.
	__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

	// commit makes a group of what was started since the last.
	__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

	// wait returns when of the groups only the last ones are still under way.
	template <int groups> __device__ __forceinline__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory"); }
};

#endif

} // namespace gemm

// The instructions of Ampere that a warp executes together, and the copies that run
// beside the threads. All threads of a block execute them the same number of times.
//
// A host has none of them. There each is written out as the PTX manual describes it: the
// threads of a block show one another their operands between two barriers. So the tests
// without a GPU run the same kernels, and the copies arrive there as late as they may.
#pragma once

#include "compat.h"

#ifdef BATCHCTL_HOST
#include "warp_host.h"
#else

namespace gemm {

__device__ __forceinline__ unsigned shared_address(const void *p) {
	return static_cast<unsigned>(reinterpret_cast<unsigned long long>((__attribute__((address_space(3))) const void *)p));
}

// Copies are those of 16 bytes from global to shared memory that a thread has started and
// that run beside it.
struct Copies {
	// start starts one. Of the 16 bytes the first count are copied, the others become zero.
	__device__ __forceinline__ void start(void *to, const void *from, int count) {
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(count) : "memory");
	}

	// commit makes a group of the copies that were started since the last.
	__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

	// wait returns when of the groups only the last ones are still under way.
	template <int groups> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory"); }
};

// load_matrices reads four matrices of 8 rows of 16 bytes: lane l knows where row l%8 of
// matrix l/8 is. Word t of row g of each goes to lane 4g+t.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], const void *row) {
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
	             : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
	             : "r"(shared_address(row))
	             : "memory");
}

// load_transposed is the same for matrices of 8x8 halves of a word, of which lane 4g+t
// gets the elements of column g in the rows 2t and 2t+1.
__device__ __forceinline__ void load_transposed(unsigned (&to)[4], const void *row) {
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
	             : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
	             : "r"(shared_address(row))
	             : "memory");
}

// The products c += a b of matrices that are spread over the warp. With g = lane/4 and
// t = lane%4:
//
// multiply_tf32, 16x8 by 8x8: a is (g, t), (g+8, t), (g, t+4), (g+8, t+4); b is (t, g),
// (t+4, g).
__device__ __forceinline__ void multiply_tf32(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
	asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// multiply_bf16, 16x16 by 16x8, two elements in a word: a is (g, 2t), (g+8, 2t),
// (g, 2t+8), (g+8, 2t+8) and the next columns; b is (2t, g), (2t+8, g) and the next rows.
// c is, for both, (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1).
__device__ __forceinline__ void multiply_bf16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// multiply_f64, 8x4 by 4x8: a is (g, t), b is (t, g), c is (g, 2t), (g, 2t+1).
__device__ __forceinline__ void multiply_f64(double (&c)[2], const double (&a)[1], const double (&b)[1]) {
	asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a[0]), "d"(b[0]));
}

// The same for 16x4 by 4x8, from Hopper on: a is (g, t), (g+8, t), and c like that of
// multiply_bf16.
__device__ __forceinline__ void multiply_f64(double (&c)[4], const double (&a)[2], const double (&b)[1]) {
	asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
	    : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
	    : "d"(a[0]), "d"(a[1]), "d"(b[0]));
}

// The same for 16x8 by 8x8: a is (g, t), (g+8, t), (g, t+4), (g+8, t+4), b is (t, g), (t+4, g).
__device__ __forceinline__ void multiply_f64(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
	asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
	    : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

// round_tf32 rounds to the 11 bits of significand that TF32 has, ties away from zero.
__device__ __forceinline__ unsigned round_tf32(unsigned bits) {
	unsigned rounded;
	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__builtin_bit_cast(float, bits)));
	return rounded;
}

// pack_bf16 rounds to bfloat16, ties to even, and puts the first into the lower half.
__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
	unsigned both;
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
	return both;
}

} // namespace gemm

#endif

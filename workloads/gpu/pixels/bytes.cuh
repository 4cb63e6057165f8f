// Bytes four at a time: words, their parts, and words of rows that start anywhere.
#pragma once

#include "compat.h"

namespace pixels {

typedef unsigned char byte;

#if defined(BATCHCTL_HOST)

// permute picks four of the eight bytes of a and b, one for each digit of the selector,
// the lowest digit for the lowest byte.
inline unsigned permute(unsigned a, unsigned b, unsigned selector) {
	unsigned long long both = (unsigned long long)b << 32 | a;
	unsigned picked = 0;
	for (int i = 0; i < 4; i++) picked |= unsigned(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
	return picked;
}

// dot4 is sum plus the products of the four bytes.
inline unsigned dot4(unsigned a, unsigned b, unsigned sum) {
	for (int i = 0; i < 4; i++) sum += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
	return sum;
}

// dot2low and dot2high are sum plus the products of the two halves of weights with the two
// low, or high, bytes of samples.
inline unsigned dot2low(unsigned weights, unsigned samples, unsigned sum) {
	return sum + (weights & 0xffff) * (samples & 0xff) + (weights >> 16) * (samples >> 8 & 0xff);
}
inline unsigned dot2high(unsigned weights, unsigned samples, unsigned sum) { return dot2low(weights, samples >> 16, sum); }

// Of the same with weights that have a sign.
inline int dot2low(unsigned weights, unsigned samples, int sum) {
	return sum + (short)(weights & 0xffff) * int(samples & 0xff) + (short)(weights >> 16) * int(samples >> 8 & 0xff);
}
inline int dot2high(unsigned weights, unsigned samples, int sum) { return dot2low(weights, samples >> 16, sum); }

struct alignas(8) uint2v {
	unsigned x, y;
};

inline unsigned bitsOf(float f) {
	unsigned bits;
	memcpy(&bits, &f, sizeof bits);
	return bits;
}
inline float floatOf(unsigned bits) {
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}

#else

static __device__ __forceinline__ unsigned permute(unsigned a, unsigned b, unsigned selector) {
	unsigned picked;
	asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(a), "r"(b), "r"(selector));
	return picked;
}
static __device__ __forceinline__ unsigned dot4(unsigned a, unsigned b, unsigned sum) {
	unsigned out;
	asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(sum));
	return out;
}
static __device__ __forceinline__ unsigned dot2low(unsigned weights, unsigned samples, unsigned sum) {
	unsigned out;
	asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(weights), "r"(samples), "r"(sum));
	return out;
}
static __device__ __forceinline__ unsigned dot2high(unsigned weights, unsigned samples, unsigned sum) {
	unsigned out;
	asm("dp2a.hi.u32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(weights), "r"(samples), "r"(sum));
	return out;
}
static __device__ __forceinline__ int dot2low(unsigned weights, unsigned samples, int sum) {
	int out;
	asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(weights), "r"(samples), "r"(sum));
	return out;
}
static __device__ __forceinline__ int dot2high(unsigned weights, unsigned samples, int sum) {
	int out;
	asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(weights), "r"(samples), "r"(sum));
	return out;
}

#if defined(__clang__)
typedef unsigned uint2v __attribute__((ext_vector_type(2)));
#else
typedef uint2 uint2v;
#endif

static __device__ __forceinline__ unsigned bitsOf(float f) {
	union { float f; unsigned bits; } both = {f};
	return both.bits;
}
static __device__ __forceinline__ float floatOf(unsigned bits) {
	union { unsigned bits; float f; } both = {bits};
	return both.f;
}

#endif

// after is the word that starts so many bytes, 0 to 3, into the word low.
static __device__ __forceinline__ unsigned after(unsigned low, unsigned high, unsigned bytes) {
	return permute(low, high, 0x3210 + 0x1111 * bytes);
}

static __device__ __forceinline__ unsigned misalignment(const void *p) { return unsigned((unsigned long long)p & 3); }

// gather packs byte 0, or another, of each of four words into one.
template <int BYTE = 0> static __device__ __forceinline__ unsigned gather(unsigned a, unsigned b, unsigned c, unsigned d) {
	const unsigned selector = 0x40 + 0x11 * BYTE;
	return permute(permute(a, b, selector), permute(c, d, selector), 0x5410);
}

// load reads the word at p, which may be at any address and of which so many bytes, at
// least one, are in the memory. It touches no aligned word that holds none of those.
static __device__ __forceinline__ unsigned load(const byte *p, int bytes = 4) {
	unsigned off = misalignment(p);
	auto words = reinterpret_cast<const unsigned *>(p - off);
	return after(words[0], words[int(off) + bytes > 4 ? 1 : 0], off);
}

// nearest is the place of the sample of the same channel in the nearest pixel of a row of
// RGB of that many bytes.
static __device__ __forceinline__ int nearest(int place, int row) {
	if (place < 0) return 2 - (-place - 1) % 3;
	return place < row ? place : row - 3 + place % 3;
}

// Column is four samples of each row of an image of RGB, side by side. Some may be outside:
// then a word holds the nearest ones, and a selector says how they are picked from it.
struct Column {
	const byte *first; // in row 0
	int row, height, bytes;
	unsigned selector;
	// aligned says that all of them are inside and in one aligned word.
	bool aligned;

	__device__ __forceinline__ const byte *at(int y) const { return first + (long long)max(0, min(y, height - 1)) * row; }
	__device__ __forceinline__ unsigned loadAligned(int y) const { return *reinterpret_cast<const unsigned *>(at(y)); }
	__device__ __forceinline__ unsigned loadAny(int y) const { return permute(pixels::load(at(y), bytes), 0, selector); }
	__device__ __forceinline__ unsigned load(int y) const { return aligned ? loadAligned(y) : loadAny(y); }
};

// column is that of a place in the rows that is a multiple of four.
static __device__ __forceinline__ Column column(const byte *src, int place, int width, int height) {
	const int row = 3 * width;
	const bool aligned = place >= 0 && place + 4 <= row && row % 4 == 0 && misalignment(src) == 0;
	const int inside = max(0, min(place, row - 4));
	Column c = {src + inside, row, height, min(4, row), 0, aligned};
#pragma unroll
	for (int i = 0; i < 4; i++) c.selector |= unsigned(nearest(place + i, row) - inside) << 4 * i;
	return c;
}

// Constant and eachConstant unroll loops that are too long for the compiler to see that
// all their indices are known.
template <int I> struct Constant {
	static constexpr int value = I;
};
template <int FROM, int TO, typename F> static __device__ __forceinline__ void eachConstant(F f) {
	if constexpr (FROM < TO) {
		f(Constant<FROM>());
		eachConstant<FROM + 1, TO>(f);
	}
}

template <int WORDS> static __device__ __forceinline__ void store(byte *p, const unsigned (&words)[WORDS], int bytes) {
	static_assert(WORDS % 2 == 0, "words are stored two at a time where they can");
	if (bytes == 4 * WORDS && ((unsigned long long)p & 7) == 0) {
#pragma unroll
		for (int i = 0; i < WORDS; i += 2) {
			uint2v two;
			two.x = words[i];
			two.y = words[i + 1];
			*reinterpret_cast<uint2v *>(p + 4 * i) = two;
		}
		return;
	}
	if (bytes == 4 * WORDS && misalignment(p) == 0) {
#pragma unroll
		for (int i = 0; i < WORDS; i++) reinterpret_cast<unsigned *>(p)[i] = words[i];
		return;
	}
#pragma unroll
	for (int i = 0; i < 4 * WORDS; i++)
		if (i < bytes) p[i] = byte(words[i / 4] >> i % 4 * 8);
}

} // namespace pixels

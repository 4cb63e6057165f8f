#include "bytes.cuh"

// Sobel's operator on the luma of RGB, min(255, |gx| + |gy|). A thread walks down a strip
// of eight pixels with the luma of two rows in registers, as float32, which holds all these
// integers exactly and whose absolute values cost nothing. The cost of an instruction is a
// slot of the scheduler; a pixel takes 18: 0.6 loads, 3.3 for luma, 8.3 for the gradients,
// 2.8 to clamp, round and pack, and 3 for addresses and the loop.
namespace pixels {

constexpr int strip = 8, haloStrip = strip + 2;

// Strip is where the pixels of a thread are in each row.
struct Strip {
	int x, width;
	__device__ bool first() const { return x == 0; }
	__device__ bool last() const { return x + strip >= width; }
};

// Each way to read has a Raw, which holds a row from four bytes left of the strip on: one
// byte more than its left neighbour.

// Wide reads rows all of which start at multiples of eight bytes and end with a strip.
struct Wide {
	struct Raw {
		unsigned words[8];
	};

	static __device__ __forceinline__ Raw load(const byte *row, const Strip &s) {
		auto p = row + 3 * s.x;
		Raw raw;
		raw.words[0] = s.first() ? 0 : *reinterpret_cast<const unsigned *>(p - 4);
#pragma unroll
		for (int i = 0; i < 3; i++) {
			uint2v two = reinterpret_cast<const uint2v *>(p)[i];
			raw.words[2 * i + 1] = two.x;
			raw.words[2 * i + 2] = two.y;
		}
		raw.words[7] = s.last() ? 0 : *reinterpret_cast<const unsigned *>(p + 24);
		return raw;
	}

	static __device__ __forceinline__ void align(Raw &) {}

	// outside says which pixels, from the left neighbour on, may be right of the image.
	static constexpr int outside = haloStrip - 1;

	static __device__ __forceinline__ void store(byte *row, const Strip &s, unsigned low, unsigned high) {
		uint2v two;
		two.x = low;
		two.y = high;
		*reinterpret_cast<uint2v *>(row + s.x) = two;
	}
};

// Any reads all others: the aligned words in which the bytes lie, off bytes too early.
struct Any {
	struct Raw {
		unsigned words[9], off;
	};

	static __device__ __forceinline__ Raw load(const byte *row, const Strip &s) {
		Raw raw;
		auto p = row + 3 * s.x - 4;
		raw.off = misalignment(p);
		auto words = reinterpret_cast<const unsigned *>(p - raw.off);
		// Words that hold nothing of the row may lie outside the memory.
		int first = s.first() ? 1 : 0, last = (3 * (s.width - s.x) + 3 + int(raw.off)) / 4;
#pragma unroll
		for (int i = 0; i < 9; i++) raw.words[i] = words[max(first, min(i, last))];
		return raw;
	}

	static __device__ __forceinline__ void align(Raw &raw) {
#pragma unroll
		for (int i = 0; i < 8; i++) raw.words[i] = after(raw.words[i], raw.words[i + 1], raw.off);
	}

	static constexpr int outside = 2;

	static __device__ __forceinline__ void store(byte *row, const Strip &s, unsigned low, unsigned high) {
		const unsigned words[] = {low, high};
		pixels::store(row + s.x, words, min(strip, s.width - s.x));
	}
};

// Luma of a strip and its two neighbours, plus 32768: a float32 of that size has its units
// in bit 8, where the weights leave them.
struct Luma {
	float at[haloStrip];
};

template <typename Way> static __device__ __forceinline__ Luma luma(typename Way::Raw raw, const Strip &s) {
	Way::align(raw);
	// Weights of ITU-R BT.601 in units of 1/256.
	const unsigned long long red = 77, green = 150, blue = 29;
	const unsigned start = 0x47000000 + 128;
	Luma l;
#pragma unroll
	for (int i = 0; i < haloStrip; i++) {
		int place = 1 + 3 * i, word = place / 4;
		unsigned long long weights = (blue << 16 | green << 8 | red) << 8 * (place % 4);
		unsigned sum = dot4(raw.words[word], unsigned(weights), start);
		if (weights >> 32) sum = dot4(raw.words[word + 1], unsigned(weights >> 32), sum);
		l.at[i] = floatOf(sum & 0xffffff00);
	}
	if (s.first()) l.at[0] = l.at[1];
	if (s.last()) {
#pragma unroll
		for (int i = Way::outside; i < haloStrip; i++)
			if (s.x + i - 1 >= s.width) l.at[i] = l.at[i - 1];
	}
	return l;
}

// edges writes one row of a strip.
template <typename Way>
static __device__ __forceinline__ void edges(byte *row, const Strip &s, const Luma &above, const Luma &here, const Luma &below) {
	float down[haloStrip], across[haloStrip];
#pragma unroll
	for (int i = 0; i < haloStrip; i++) {
		across[i] = fmaf(2, here.at[i], above.at[i]) + below.at[i];
		down[i] = below.at[i] - above.at[i];
	}
	unsigned level[strip];
#pragma unroll
	for (int i = 0; i < strip; i++) {
		float gx = across[i + 2] - across[i], gy = fmaf(2, down[i + 1], down[i]) + down[i + 2];
		level[i] = bitsOf(fminf(fabsf(gx) + fabsf(gy), 255) + 8388608);
	}
	Way::store(row, s, gather(level[0], level[1], level[2], level[3]), gather(level[4], level[5], level[6], level[7]));
}

// sobel: a warp has 256 pixels of a row side by side, and that many rows
// below each other. Warps are counted along, then down, then over the images.
template <typename Way>
static __device__ __forceinline__ void sobel(byte *dst, const byte *src, int width, int height, int rows, int warpsAcross, int warpsDown, int warps) {
	const int warp = int(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32), lane = int(threadIdx.x % 32);
	const int begin = warp / warpsAcross % warpsDown * rows, end = min(begin + rows, height);
	const Strip s = {(warp % warpsAcross * 32 + lane) * strip, width};
	if (warp >= warps || s.x >= width) return;
	const long long image = warp / warpsAcross / warpsDown;
	src += image * height * width * 3;
	dst += image * height * width;
	auto fetch = [&](int y) { return Way::load(src + (long long)max(0, min(y, height - 1)) * (3 * width), s); };
	auto emit = [&](int y, const Luma &above, const Luma &here, const Luma &below) {
		if (y >= begin && y < end) edges<Way>(dst + (long long)y * width, s, above, here, below);
	};
	// Three rows of luma change their parts with each row, so after three they are back.
	Luma a, b, c;
	auto first = fetch(begin - 1), second = fetch(begin), third = fetch(begin + 1);
#pragma unroll 1
	for (int y = begin - 2; y < end; y += 3) {
		c = luma<Way>(first, s);
		first = fetch(y + 4);
		emit(y, a, b, c);
		a = luma<Way>(second, s);
		second = fetch(y + 5);
		emit(y + 1, b, c, a);
		b = luma<Way>(third, s);
		third = fetch(y + 6);
		emit(y + 2, c, a, b);
	}
}

} // namespace pixels

extern "C" __global__ void __launch_bounds__(128) pixels_sobel(pixels::byte *__restrict__ dst, const pixels::byte *__restrict__ src, int width, int height, int rows, int warpsAcross, int warpsDown, int warps) {
	pixels::sobel<pixels::Any>(dst, src, width, height, rows, warpsAcross, warpsDown, warps);
}

// pixels_sobel_wide is for addresses and widths that are multiples of eight.
extern "C" __global__ void __launch_bounds__(128) pixels_sobel_wide(pixels::byte *__restrict__ dst, const pixels::byte *__restrict__ src, int width, int height, int rows, int warpsAcross, int warpsDown, int warps) {
	pixels::sobel<pixels::Wide>(dst, src, width, height, rows, warpsAcross, warpsDown, warps);
}

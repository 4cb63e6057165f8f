#include "bytes.cuh"

// The rounded mean of each block of 2x2. Four samples of a mean lie three bytes apart in
// two rows.
namespace pixels {

constexpr int halfThreads = 128, halfRows = 4, widePixels = 4, wideWords = 3 * widePixels / 4;

// Each thread has four pixels of the output side by side, of which it makes three words of
// two rows of six. dp4a picks a sample and its neighbour from a word and adds them up, each
// times 64, so that byte 1 is the mean. That takes 3.3 slots of the scheduler a sample, and
// 1.5 to pack and store.
//
// halfPair computes two pixels, of three words of each row.
static __device__ __forceinline__ void halfPair(unsigned (&sums)[6], const unsigned *above, const unsigned *below) {
#pragma unroll
	for (int i = 0; i < 6; i++) sums[i] = 128;
#pragma unroll
	for (int row = 0; row < 2; row++) {
		const unsigned *w = row ? below : above;
		sums[0] = dot4(w[0], 0x40000040, sums[0]);
		sums[1] = dot4(w[1], 0x00000040, dot4(w[0], 0x00004000, sums[1]));
		sums[2] = dot4(w[1], 0x00004000, dot4(w[0], 0x00400000, sums[2]));
		sums[3] = dot4(w[2], 0x00004000, dot4(w[1], 0x00400000, sums[3]));
		sums[4] = dot4(w[2], 0x00400000, dot4(w[1], 0x40000000, sums[4]));
		sums[5] = dot4(w[2], 0x40000040, sums[5]);
	}
}

static __device__ __forceinline__ void loadWide(unsigned (&words)[6], const byte *p) {
#pragma unroll
	for (int i = 0; i < 6; i += 2) {
		uint2v two = reinterpret_cast<const uint2v *>(p)[i / 2];
		words[i] = two.x;
		words[i + 1] = two.y;
	}
}

static __device__ __forceinline__ void halfWide(unsigned (&out)[wideWords], const byte *above, int row) {
	unsigned a[6], b[6], left[6], right[6];
	loadWide(a, above);
	loadWide(b, above + row);
	halfPair(left, a, b);
	halfPair(right, a + 3, b + 3);
	out[0] = gather<1>(left[0], left[1], left[2], left[3]);
	out[1] = gather<1>(left[4], left[5], right[0], right[1]);
	out[2] = gather<1>(right[2], right[3], right[4], right[5]);
}

// Pairs are four samples and their right neighbours. Ten bytes of a row, from that of the
// first sample on, hold them.
struct Pairs {
	unsigned left, right;
};

// pairs picks them by a selector that depends only on the channel of the first.
static __device__ __forceinline__ Pairs pairs(const byte *p, unsigned selector) {
	unsigned off = misalignment(p);
	auto words = reinterpret_cast<const unsigned *>(p - off);
	unsigned a = words[0], b = words[1], c = words[2], d = words[off == 3 ? 3 : 2];
	a = after(a, b, off);
	b = after(b, c, off);
	c = after(c, d, off);
	return {permute(a, b, selector), permute(after(a, b, 3), after(b, c, 3), selector)};
}

// mean4 rounds the means of four bytes each, in halves of words so that sums have room.
static __device__ __forceinline__ unsigned mean4(unsigned a, unsigned b, unsigned c, unsigned d) {
	const unsigned even = 0x00ff00ff, odd = 0x4341, two = 0x00020002;
	unsigned low = (a & even) + (b & even) + (c & even) + (d & even) + two;
	unsigned high = permute(a, 0, odd) + permute(b, 0, odd) + permute(c, 0, odd) + permute(d, 0, odd) + two;
	return (low >> 2 & even) | (high << 6 & ~even);
}

// halfSample is one output of a row, where pixels may lack a neighbour.
static __device__ __forceinline__ byte halfSample(const byte *above, const byte *below, int place, int row) {
	int left = place / 3 * 6 + place % 3;
	int right = nearest(left + 3, row);
	return byte((above[left] + above[right] + below[left] + below[right] + 2) >> 2);
}

// halfWord writes a word of an output row that begins at place, or what of it is inside.
static __device__ __forceinline__ void halfWord(byte *out, const byte *above, const byte *below, int place, int width) {
	if (place >= 0 && place + 4 <= width / 2 * 3) {
		int pixel = place / 3, channel = place - 3 * pixel;
		unsigned selector = channel == 0 ? 0x6210 : channel == 1 ? 0x6510 : 0x6540;
		Pairs a = pairs(above + 6 * pixel + channel, selector), b = pairs(below + 6 * pixel + channel, selector);
		*reinterpret_cast<unsigned *>(out + place) = mean4(a.left, a.right, b.left, b.right);
		return;
	}
	for (int i = max(place, 0); i < min(place + 4, (width + 1) / 2 * 3); i++) out[i] = halfSample(above, below, i, 3 * width);
}

// HalfRows are the rows of a block: blocks are counted along, then down, then over images.
struct HalfRows {
	int column, y, end;
	const byte *above; // in the input
	byte *out;         // in the output

	__device__ HalfRows(byte *dst, const byte *src, int width, int height, int across, int down) {
		const int at = int(blockIdx.x), halfHeight = (height + 1) / 2;
		const long long image = at / across / down;
		column = at % across * halfThreads + int(threadIdx.x);
		y = at / across % down * halfRows;
		end = min(y + halfRows, halfHeight);
		above = src + (image * height + 2 * y) * width * 3;
		out = dst + (image * halfHeight + y) * ((width + 1) / 2) * 3;
	}
};

} // namespace pixels

// pixels_half_wide is for addresses and widths that are multiples of eight. Threads hand
// their words over so that a warp stores without gaps.
extern "C" __global__ void __launch_bounds__(pixels::halfThreads) pixels_half_wide(pixels::byte *__restrict__ dst, const pixels::byte *__restrict__ src, int width, int height, int across, int down) {
	using namespace pixels;
	__shared__ unsigned lines[2][wideWords * halfThreads];
	HalfRows rows(dst, src, width, height, across, down);
	const int row = 3 * width, size = row / 2, words = size / 4, first = wideWords * (rows.column - int(threadIdx.x));
	for (; rows.y < rows.end; rows.y++, rows.above += 2 * row, rows.out += size) {
		unsigned *line = lines[rows.y % 2];
		if (wideWords * rows.column < words) {
			unsigned out[wideWords];
			halfWide(out, rows.above + 24 * rows.column, 2 * rows.y + 1 < height ? row : 0);
#pragma unroll
			for (int i = 0; i < wideWords; i++) line[wideWords * threadIdx.x + i] = out[i];
		}
		__syncthreads();
#pragma unroll
		for (int i = 0; i < wideWords; i++) {
			const int word = first + i * halfThreads + int(threadIdx.x);
			if (word < words) reinterpret_cast<unsigned *>(rows.out)[word] = line[i * halfThreads + threadIdx.x];
		}
	}
}

// pixels_half is for all others. Threads share a row out by the aligned words in which it
// lies, the first of which may begin before the row.
extern "C" __global__ void __launch_bounds__(pixels::halfThreads) pixels_half(pixels::byte *__restrict__ dst, const pixels::byte *__restrict__ src, int width, int height, int across, int down) {
	using namespace pixels;
	HalfRows rows(dst, src, width, height, across, down);
	const int row = 3 * width, size = (width + 1) / 2 * 3;
	for (; rows.y < rows.end; rows.y++, rows.above += 2 * row, rows.out += size)
		halfWord(rows.out, rows.above, rows.above + (2 * rows.y + 1 < height ? row : 0), 4 * rows.column - int(misalignment(rows.out)), width);
}

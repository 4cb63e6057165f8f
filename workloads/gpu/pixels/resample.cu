#include "bytes.cuh"

// Resizing by a filter for each axis, with the integers of package image: a block takes the
// lines that its tile of the output needs down the columns into shared memory, and then
// computes along them. The tile is as large as its lines fit. A thread works on four outputs
// at a time, so that the loads for all of them are on their way together.
namespace pixels {

constexpr int resampleThreads = 256, atOnce = 4;

// Axis is a filter as it lies in the card's memory, with its weights in pairs.
struct Axis {
	const int *__restrict__ first;
	const unsigned *__restrict__ pairs;
	int taps, bits;

	// pair is that of taps k and k+1 of an output.
	__device__ __forceinline__ unsigned pair(int output, int k) const { return pairs[(output * taps + k) / 2u]; }
};

static __device__ __forceinline__ int half(int shift) { return 1 << shift >> 1; }

// down computes a column of four lines from the output top on, of which so many are wanted.
static __device__ __forceinline__ void down(short *line, int pitch, const Column &c, const Axis &a, int top, int wanted) {
	// Lines have so many bits behind the point.
	const int shift = a.bits - 6;
	int outputs[atOnce], first[atOnce], sums[atOnce][4];
#pragma unroll
	for (int r = 0; r < atOnce; r++) {
		outputs[r] = top + min(r, wanted - 1);
		first[r] = a.first[outputs[r]];
		sums[r][0] = sums[r][1] = sums[r][2] = sums[r][3] = half(shift);
	}
#pragma unroll 1
	for (int k = 0; k < a.taps; k += 2) {
		unsigned rows[atOnce][2];
		if (c.aligned) {
#pragma unroll
			for (int r = 0; r < 2 * atOnce; r++) rows[r / 2][r % 2] = c.loadAligned(first[r / 2] + k + r % 2);
		} else {
#pragma unroll
			for (int r = 0; r < 2 * atOnce; r++) rows[r / 2][r % 2] = c.loadAny(first[r / 2] + k + r % 2);
		}
#pragma unroll
		for (int r = 0; r < atOnce; r++) {
			const unsigned pair = a.pair(outputs[r], k), left = permute(rows[r][0], rows[r][1], 0x5140), right = permute(rows[r][0], rows[r][1], 0x7362);
			sums[r][0] = dot2low(pair, left, sums[r][0]);
			sums[r][1] = dot2high(pair, left, sums[r][1]);
			sums[r][2] = dot2low(pair, right, sums[r][2]);
			sums[r][3] = dot2high(pair, right, sums[r][3]);
		}
	}
#pragma unroll
	for (int r = 0; r < atOnce; r++) {
		if (r >= wanted) break;
		uint2v out;
		out.x = permute(unsigned(sums[r][0] >> shift), unsigned(sums[r][1] >> shift), 0x5410);
		out.y = permute(unsigned(sums[r][2] >> shift), unsigned(sums[r][3] >> shift), 0x5410);
		*reinterpret_cast<uint2v *>(line + r * pitch) = out;
	}
}

// along computes four pixels, whose first taps are at these places of lines.
static __device__ __forceinline__ void along(unsigned (&out)[atOnce][3], const short *const (&lines)[atOnce], const Axis &a, const int (&outputs)[atOnce]) {
	const int shift = a.bits + 6;
	int sums[atOnce][3];
#pragma unroll
	for (int i = 0; i < atOnce; i++) sums[i][0] = sums[i][1] = sums[i][2] = half(shift);
#pragma unroll 1
	for (int k = 0; k < a.taps; k += 2) {
#pragma unroll
		for (int i = 0; i < atOnce; i++) {
			const unsigned pair = a.pair(outputs[i], k);
			const int left = short(pair & 0xffff), right = short(pair >> 16);
#pragma unroll
			for (int c = 0; c < 3; c++) sums[i][c] += left * lines[i][3 * k + c] + right * lines[i][3 * k + c + 3];
		}
	}
#pragma unroll
	for (int i = 0; i < atOnce; i++)
#pragma unroll
		for (int c = 0; c < 3; c++) out[i][c] = unsigned(max(0, min(sums[i][c] >> shift, 255)));
}

} // namespace pixels

// pixels_resample: a block has rows times 2^widthBits pixels of the output, whose lines
// start at an input that is a multiple of four, so that its samples begin a word, and are
// pitch samples apart, a multiple of four. Blocks are counted along, down, over the images.
extern "C" __global__ void __launch_bounds__(pixels::resampleThreads, 3)
	pixels_resample(pixels::byte *__restrict__ dst, const pixels::byte *__restrict__ src, int width, int height, int outWidth, int outHeight,
		int widthBits, int rows, int pitch, int tilesAcross, int tilesDown, const int *__restrict__ acrossFirst,
		const int *__restrict__ starts, const unsigned *__restrict__ acrossPairs, int acrossTaps, int acrossBits,
		const int *__restrict__ downFirst, const unsigned *__restrict__ downPairs, int downTaps, int downBits) {
	using namespace pixels;
	BATCHCTL_DYNAMIC_SHARED(short, lines);
	const Axis x = {acrossFirst, acrossPairs, acrossTaps, acrossBits}, y = {downFirst, downPairs, downTaps, downBits};
	const int tile = int(blockIdx.x) % tilesAcross, left = tile << widthBits, top = int(blockIdx.x) / tilesAcross % tilesDown * rows;
	const long long image = int(blockIdx.x) / tilesAcross / tilesDown;
	const int start = starts[tile], outRows = min(rows, outHeight - top);
	for (int i = 4 * int(threadIdx.x); i < pitch; i += 4 * resampleThreads) {
		const Column c = column(src + image * height * width * 3, 3 * start + i, width, height);
#pragma unroll 1
		for (int r = 0; r < outRows; r += atOnce) down(lines + r * pitch + i, pitch, c, y, top + r, outRows - r);
	}
	__syncthreads();
	const int count = outRows << widthBits;
	for (int i = int(threadIdx.x); i < count; i += atOnce * resampleThreads) {
		int columns[atOnce], rowOf[atOnce];
		const short *from[atOnce];
		unsigned out[atOnce][3];
#pragma unroll
		for (int j = 0; j < atOnce; j++) {
			const int at = min(i + j * resampleThreads, count - 1);
			rowOf[j] = at >> widthBits;
			columns[j] = min(left + at - (rowOf[j] << widthBits), outWidth - 1);
			from[j] = lines + rowOf[j] * pitch + 3 * (x.first[columns[j]] - start);
		}
		along(out, from, x, columns);
		// What is beyond the edges writes the last pixel once more.
#pragma unroll
		for (int j = 0; j < atOnce; j++) {
			byte *pixel = dst + ((image * outHeight + top + rowOf[j]) * outWidth + columns[j]) * 3;
#pragma unroll
			for (int c = 0; c < 3; c++) pixel[c] = byte(out[j][c]);
		}
	}
}

#include "bytes.cuh"

// A Gaussian blur in one kernel: eight rows at a time, first down the columns into lines of
// float32 in shared memory, then along those lines.
//
// Down the columns a thread owns four bytes of each row and keeps as many rows of them as
// the filter reaches over in registers, four rows of a column in a word. There dp2a does two
// taps with weights of 16 bits for one slot of the scheduler. Along a line a thread owns
// eight pixels, and every four floats that it loads serve up to all of them. For a sample
// the scheduler gives these slots at radius 6, and at 15, the halo included (sm_90):
//
//	down   dp2a 8.2, 18.7; rounding and storing 1.5, 1.5
//	along  multiply-adds 13, 31; loads 0.6, 1.2; rounding and storing 1.9, 1.9
//	both   rows, addresses and the rest 2.7, 3.6
//
// That is 28 and 58, where two passes of multiply-adds alone take 26 and 62.
namespace pixels {

constexpr int gaussianThreads = 256, gaussianRows = 8, gaussianTile = 256, mostWeights = 16;
constexpr int taskPixels = gaussianTile * gaussianRows / gaussianThreads, taskFloats = 3 * taskPixels;

// Lines have four floats of padding behind each task's, which puts the threads of a warp
// into different banks.
static __device__ __forceinline__ constexpr int padded(int place) { return place + 4 * (place / taskFloats); }

// Tile is the block's part of an image: a tile wide, rows high.
struct Tile {
	const byte *src;
	byte *dst;
	int x, begin, end, width, height;
};

static __device__ __forceinline__ Tile tile(byte *dst, const byte *src, int width, int height, int rows, int across, int down) {
	int at = int(blockIdx.x), column = at % across, row = at / across % down;
	long long start = (long long)(at / across / down) * height * width * 3;
	return {src + start, dst + start, column * gaussianTile, row * rows, min(row * rows + rows, height), width, height};
}

// fetch loads eight rows of a column from y on.
static __device__ __forceinline__ void fetch(unsigned (&rows)[gaussianRows], const Column &c, int y) {
	if (c.aligned) {
#pragma unroll
		for (int i = 0; i < gaussianRows; i++) rows[i] = c.loadAligned(y + i);
	} else {
#pragma unroll
		for (int i = 0; i < gaussianRows; i++) rows[i] = c.loadAny(y + i);
	}
}

// later is the second half of a and the first of b. It is computed where it is used,
// because registers are scarcer than slots.
static __device__ __forceinline__ unsigned later(unsigned a, unsigned b) {
#if defined(BATCHCTL_HOST)
	return a >> 16 | b << 16;
#else
	unsigned out;
	asm volatile("prmt.b32 %0, %1, %2, 0x5432;" : "=r"(out) : "r"(a), "r"(b));
	return out;
#endif
}

// transpose makes words of columns out of words of four rows.
static __device__ __forceinline__ void transpose(unsigned (&columns)[4], unsigned a, unsigned b, unsigned c, unsigned d) {
	unsigned ab = permute(a, b, 0x5140), cd = permute(c, d, 0x5140), AB = permute(a, b, 0x7362), CD = permute(c, d, 0x7362);
	columns[0] = permute(ab, cd, 0x5410);
	columns[1] = permute(ab, cd, 0x7632);
	columns[2] = permute(AB, CD, 0x5410);
	columns[3] = permute(AB, CD, 0x7632);
}

// roundAll packs the sums of a task, which are at most 255 and a little: a float32 of the
// size of 2^23 has its units in bit 0.
static __device__ __forceinline__ void roundAll(unsigned (&out)[taskFloats / 4], const float (&sums)[taskFloats]) {
	auto level = [&](int i) { return bitsOf(sums[i] + 8388608); };
#pragma unroll
	for (int i = 0; i < taskFloats / 4; i++) out[i] = gather(level(4 * i), level(4 * i + 1), level(4 * i + 2), level(4 * i + 3));
}

template <int RADIUS> struct Gaussian {
	static constexpr int halo = (RADIUS + 3) / 4 * 4, words = 3 * (gaussianTile + 2 * halo) / 4;
	static constexpr int pitch = padded(4 * words), windowWords = (gaussianRows + 2 * RADIUS + 3) / 4;
	static_assert(words <= gaussianThreads, "each thread has one column of words");

	// Window holds the rows from RADIUS above the current eight on.
	struct Window {
		unsigned at[windowWords][4];
	};

	static __device__ __forceinline__ void push(Window &w, const unsigned (&rows)[gaussianRows]) {
#pragma unroll
		for (int i = 0; i + 2 < windowWords; i++)
#pragma unroll
			for (int k = 0; k < 4; k++) w.at[i][k] = w.at[i + 2][k];
		transpose(w.at[windowWords - 2], rows[0], rows[1], rows[2], rows[3]);
		transpose(w.at[windowWords - 1], rows[4], rows[5], rows[6], rows[7]);
	}

	// Pairs are the weights of the taps, two and two.
	struct Pairs {
		unsigned at[RADIUS + 1];

		__device__ __forceinline__ unsigned operator[](int i) const { return i < 0 ? 0 : at[i]; }
	};

	static __device__ __forceinline__ Pairs pairs(const unsigned (&weights)[mostWeights]) {
		auto tap = [&](int i) { return i > 2 * RADIUS ? 0 : weights[i < RADIUS ? RADIUS - i : i - RADIUS]; };
		Pairs p;
#pragma unroll
		for (int i = 0; i <= RADIUS; i++) p.at[i] = tap(2 * i) | tap(2 * i + 1) << 16;
		return p;
	}

	// down computes the rows with even numbers, or those with odd ones, whose pairs of
	// samples have the weights one place later.
	template <bool ODD> static __device__ __forceinline__ void down(float *line, const Window &w, const Pairs &p) {
		unsigned sums[gaussianRows / 2][4] = {};
		eachConstant<0, RADIUS + 1>([&](auto tap) {
			constexpr int i = decltype(tap)::value;
			const unsigned weights = ODD ? later(p[i - 1], p[i]) : p[i];
#pragma unroll
			for (int y = 0; y < gaussianRows / 2; y++)
#pragma unroll
				for (int k = 0; k < 4; k++) {
					const unsigned samples = w.at[(y + i) / 2][k];
					sums[y][k] = (y + i) % 2 ? dot2high(weights, samples, sums[y][k]) : dot2low(weights, samples, sums[y][k]);
				}
		});
#pragma unroll
		for (int y = 0; y < gaussianRows / 2; y++) {
			float4v v;
			v.x = float(int(sums[y][0])), v.y = float(int(sums[y][1])), v.z = float(int(sums[y][2])), v.w = float(int(sums[y][3]));
			*reinterpret_cast<float4v *>(line + (2 * y + ODD) * pitch) = v;
		}
	}

	// along computes a task from the line where it begins, RADIUS rounded up to the left.
	static __device__ __forceinline__ void along(unsigned (&out)[taskFloats / 4], const float *line, const float (&weights)[mostWeights]) {
		float sums[taskFloats] = {};
		constexpr int first = 3 * (halo - RADIUS) / 4, last = (3 * (halo + taskPixels + RADIUS) - 1) / 4;
		eachConstant<first, last + 1>([&](auto at) {
			constexpr int i = decltype(at)::value;
			const float4v v = *reinterpret_cast<const float4v *>(line + padded(4 * i));
			const float in[] = {v.x, v.y, v.z, v.w};
#pragma unroll
			for (int k = 0; k < 4; k++) {
				const int pixel = (4 * i + k) / 3 - halo, channel = (4 * i + k) % 3;
#pragma unroll
				for (int p = 0; p < taskPixels; p++) {
					const int away = p < pixel ? pixel - p : p - pixel;
					if (away <= RADIUS) sums[3 * p + channel] = fmaf(in[k], weights[away], sums[3 * p + channel]);
				}
			}
		});
		roundAll(out, sums);
	}

	static __device__ __forceinline__ void run(const Tile &t, const unsigned (&vertical)[mostWeights], const float (&horizontal)[mostWeights]) {
		BATCHCTL_DYNAMIC_SHARED(float, lines);
		const int thread = int(threadIdx.x), task = thread % (gaussianTile / taskPixels), taskRow = thread / (gaussianTile / taskPixels);
		const int x = t.x + task * taskPixels;
		byte *const dst = t.dst + 3 * ((long long)taskRow * t.width + x);
		const int end = x < t.width ? t.end - taskRow : t.begin;
		const bool filled = 4 * thread < 3 * (min(gaussianTile, t.width - t.x) + 2 * halo);
		const Column c = column(t.src, 3 * (t.x - halo) + 4 * thread, t.width, t.height);
		const Pairs p = pairs(vertical);
		// So many rows below the first of the current ones are those of the last two words.
		constexpr int ahead = 4 * (windowWords - 2) - RADIUS, early = (windowWords - 1) / 2 * gaussianRows;
		Window window;
		unsigned rows[gaussianRows];
		// The window is filled in a loop of its own, because the first row, which that loop needs,
		// would take a register of the other.
		if (filled) {
			fetch(rows, c, t.begin - early + ahead);
#pragma unroll 1
			for (int y = t.begin - early; y < t.begin; y += gaussianRows) {
				push(window, rows);
				fetch(rows, c, y + gaussianRows + ahead);
			}
		}
#pragma unroll 1
		for (int y = t.begin; y < t.end; y += gaussianRows) {
			if (filled) {
				push(window, rows);
				fetch(rows, c, y + gaussianRows + ahead);
				down<false>(lines + padded(4 * thread), window, p);
				down<true>(lines + padded(4 * thread), window, p);
			}
			__syncthreads();
			if (y < end) {
				unsigned out[taskFloats / 4];
				along(out, lines + taskRow * pitch + padded(taskFloats) * task, horizontal);
				store(dst + 3 * ((long long)y * t.width), out, 3 * min(taskPixels, t.width - x));
			}
			__syncthreads();
		}
	}
};

// BigGaussian is for any radius up to mostHalo, with weights in shared memory and float32
// in both passes. Weights are read for all distances that a loop meets: those beyond the
// radius are 0.
struct BigGaussian {
	static constexpr int mostHalo = 64, farthest = mostHalo + 2 * taskPixels;
	static constexpr int words = 3 * (gaussianTile + 2 * mostHalo) / 4, pitch = padded(4 * words);

	// down computes eight rows of a column from the first that they need on.
	static __device__ __forceinline__ void down(float *line, const Column &c, int y, int radius, const float *centre) {
		float sums[gaussianRows][4] = {};
		for (int i = 0; i < gaussianRows + 2 * radius; i++) {
			const unsigned word = c.load(y - radius + i);
			const float in[] = {float(word & 255), float(word >> 8 & 255), float(word >> 16 & 255), float(word >> 24)};
#pragma unroll
			for (int k = 0; k < gaussianRows; k++)
#pragma unroll
				for (int j = 0; j < 4; j++) sums[k][j] = fmaf(in[j], centre[i - radius - k], sums[k][j]);
		}
#pragma unroll
		for (int k = 0; k < gaussianRows; k++) {
			float4v v;
			v.x = sums[k][0], v.y = sums[k][1], v.z = sums[k][2], v.w = sums[k][3];
			*reinterpret_cast<float4v *>(line + k * pitch) = v;
		}
	}

	// along computes a task from the line where it begins, halo to the left.
	static __device__ __forceinline__ void along(unsigned (&out)[taskFloats / 4], const float *line, int halo, const float *centre) {
		float sums[taskFloats] = {};
#pragma unroll 1
		for (int start = -halo; start <= halo; start += taskPixels, line += padded(taskFloats)) {
#pragma unroll
			for (int i = 0; i < taskFloats; i++)
#pragma unroll
				for (int p = 0; p < taskPixels; p++)
					sums[3 * p + i % 3] = fmaf(line[i], centre[start + i / 3 - p], sums[3 * p + i % 3]);
		}
		roundAll(out, sums);
	}

	static __device__ __forceinline__ void run(const Tile &t, int radius, const float *weights) {
		BATCHCTL_DYNAMIC_SHARED(float, lines);
		float *centre = lines + gaussianRows * pitch + farthest;
		const int thread = int(threadIdx.x), halo = (radius + taskPixels - 1) / taskPixels * taskPixels;
		for (int i = thread; i <= farthest; i += gaussianThreads) centre[i] = centre[-i] = i <= radius ? weights[i] : 0;
		const int task = thread % (gaussianTile / taskPixels), taskRow = thread / (gaussianTile / taskPixels);
		// Tasks read all that is within their halo, be it with a weight of 0.
		const int x = t.x + task * taskPixels, tasks = (min(gaussianTile, t.width - t.x) + taskPixels - 1) / taskPixels;
		const int filled = taskFloats * tasks + 6 * halo;
		for (int y = t.begin; y < t.end; y += gaussianRows) {
			__syncthreads();
			for (int i = 4 * thread; i < filled; i += 4 * gaussianThreads)
				down(lines + padded(i), column(t.src, 3 * (t.x - halo) + i, t.width, t.height), y, radius, centre);
			__syncthreads();
			if (x < t.width && y + taskRow < t.end) {
				unsigned out[taskFloats / 4];
				along(out, lines + taskRow * pitch + padded(taskFloats) * task, halo, centre);
				store(t.dst + 3 * ((long long)(y + taskRow) * t.width + x), out, 3 * min(taskPixels, t.width - x));
			}
		}
	}
};

} // namespace pixels

// pixels_gaussian_RADIUS takes the weights from the centre outwards: of the first pass in
// fixed point, of the second in float32 divided by the unit of the first.
#define PIXELS_GAUSSIAN(RADIUS)                                                                                                     \
	extern "C" __global__ void __launch_bounds__(pixels::gaussianThreads, RADIUS > 6 ? 2 : 3)                                                      \
		pixels_gaussian_##RADIUS(pixels::byte *__restrict__ dst, const pixels::byte *__restrict__ src, int width, int height,       \
			int rows, int across, int down, unsigned v0, unsigned v1, unsigned v2, unsigned v3, unsigned v4, unsigned v5,           \
			unsigned v6, unsigned v7, unsigned v8, unsigned v9, unsigned v10, unsigned v11, unsigned v12, unsigned v13,             \
			unsigned v14, unsigned v15, float h0, float h1, float h2, float h3, float h4, float h5, float h6, float h7, float h8,   \
			float h9, float h10, float h11, float h12, float h13, float h14, float h15) {                                           \
		const unsigned v[] = {v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15};                                \
		const float h[] = {h0, h1, h2, h3, h4, h5, h6, h7, h8, h9, h10, h11, h12, h13, h14, h15};                                   \
		pixels::Gaussian<RADIUS>::run(pixels::tile(dst, src, width, height, rows, across, down), v, h);                             \
	}

PIXELS_GAUSSIAN(3)
PIXELS_GAUSSIAN(6)
PIXELS_GAUSSIAN(9)
PIXELS_GAUSSIAN(12)
PIXELS_GAUSSIAN(15)

// pixels_gaussian takes radius + 1 weights from the centre outwards.
extern "C" __global__ void __launch_bounds__(pixels::gaussianThreads)
	pixels_gaussian(pixels::byte *__restrict__ dst, const pixels::byte *__restrict__ src, int width, int height, int rows, int across, int down, int radius, const float *__restrict__ weights) {
	pixels::BigGaussian::run(pixels::tile(dst, src, width, height, rows, across, down), radius, weights);
}

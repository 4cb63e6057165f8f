#include "bytes.cuh"

// What samples become does not depend on their neighbours, so a batch is one line of
// bytes. Grids are as large as the card holds at once, and stride over it.
namespace pixels {

static __device__ __forceinline__ long long threadOfGrid() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ __forceinline__ long long threadsOfGrid() { return (long long)gridDim.x * blockDim.x; }

static __device__ __forceinline__ bool aligned(const void *p, unsigned bytes) { return ((unsigned long long)p & (bytes - 1)) == 0; }

// eachVector calls f(out, in) for all vectors, with four loads on their way at a time.
template <typename Out, typename In, typename F>
static __device__ __forceinline__ void eachVector(Out *out, const In *in, long long n, F f) {
	const long long step = threadsOfGrid();
	long long i = threadOfGrid();
#pragma unroll 1
	for (; i + 3 * step < n; i += 4 * step) {
		In a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];
		out[i] = f(a);
		out[i + step] = f(b);
		out[i + 2 * step] = f(c);
		out[i + 3 * step] = f(d);
	}
#pragma unroll 1
	for (; i < n; i += step) out[i] = f(in[i]);
}

// Each of the 32 lanes of a warp has a table of its own in its own bank of the shared
// memory, so that no two wait for each other. An entry is a word, and a row of all lanes'
// has 128 bytes.
constexpr unsigned lanes = 32, rowBytes = 4 * lanes;

// look replaces the bytes of a word; lane is the place of the lane's word in a row.
static __device__ __forceinline__ unsigned look(const byte *tables, unsigned lane, unsigned word) {
	const unsigned mask = 255 * rowBytes;
	auto entry = [=](unsigned row) { return *reinterpret_cast<const unsigned *>(tables + ((row & mask) | lane)); };
	return gather(entry(word << 7), entry(word >> 1), entry(word >> 9), entry(word >> 17));
}

} // namespace pixels

extern "C" __global__ void __launch_bounds__(512) pixels_table(pixels::byte *__restrict__ dst, const pixels::byte *__restrict__ src, long long n, const pixels::byte *__restrict__ entries) {
	using namespace pixels;
	BATCHCTL_DYNAMIC_SHARED(unsigned, tables);
	for (unsigned i = threadIdx.x; i < 256 * lanes; i += blockDim.x) tables[i] = entries[i / lanes];
	__syncthreads();
	auto table = reinterpret_cast<const byte *>(tables);
	const unsigned lane = 4 * (threadIdx.x % lanes);
	long long vectors = aligned(dst, 16) && aligned(src, 16) ? n / 16 : 0;
	eachVector(reinterpret_cast<uint4v *>(dst), reinterpret_cast<const uint4v *>(src), vectors, [=](uint4v v) {
		v.x = look(table, lane, v.x);
		v.y = look(table, lane, v.y);
		v.z = look(table, lane, v.z);
		v.w = look(table, lane, v.w);
		return v;
	});
#pragma unroll 1
	for (long long i = 16 * vectors + threadOfGrid(); i < n; i += threadsOfGrid()) dst[i] = byte(look(table, lane, src[i]));
}

// pixels_linear reads four bytes where it writes sixteen, so that both are without gaps.
extern "C" __global__ void __launch_bounds__(256) pixels_linear(float *__restrict__ dst, const pixels::byte *__restrict__ src, long long n, float factor, float offset) {
	using namespace pixels;
	long long vectors = aligned(dst, 16) && aligned(src, 4) ? n / 4 : 0;
	eachVector(reinterpret_cast<float4v *>(dst), reinterpret_cast<const unsigned *>(src), vectors, [=](unsigned word) {
		float4v v;
		v.x = fmaf(float(word & 255), factor, offset);
		v.y = fmaf(float(word >> 8 & 255), factor, offset);
		v.z = fmaf(float(word >> 16 & 255), factor, offset);
		v.w = fmaf(float(word >> 24), factor, offset);
		return v;
	});
#pragma unroll 1
	for (long long i = 4 * vectors + threadOfGrid(); i < n; i += threadsOfGrid()) dst[i] = fmaf(float(src[i]), factor, offset);
}

extern "C" __global__ void __launch_bounds__(256) pixels_copy(pixels::byte *__restrict__ dst, const pixels::byte *__restrict__ src, long long n) {
	using namespace pixels;
	long long vectors = aligned(dst, 16) && aligned(src, 16) ? n / 16 : 0;
	eachVector(reinterpret_cast<uint4v *>(dst), reinterpret_cast<const uint4v *>(src), vectors, [](uint4v v) { return v; });
#pragma unroll 1
	for (long long i = 16 * vectors + threadOfGrid(); i < n; i += threadsOfGrid()) dst[i] = src[i];
}

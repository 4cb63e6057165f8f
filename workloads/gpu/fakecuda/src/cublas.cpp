// libcublas.so.12 on the fake driver: products of column-major matrices, in the order of
// the stream.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

// Of the fake driver.
extern "C" {
int fakecuda_injected(const char *call);
int fakecuda_contains(unsigned long long p, size_t size);
int fakecuda_enqueue(void *stream, void (*run)(void *), void *argument);
int cuCtxGetDevice(int *);
int cuDeviceGetAttribute(int *, int, int);
}

namespace {

enum Status { success = 0, notInitialized = 1, invalidValue = 7, executionFailed = 13, notSupported = 15 };
enum Type { real32 = 0, real64 = 1, bfloat16 = 14 };                      // cudaDataType
enum Compute { compute32 = 68, compute64 = 70, compute32TF32 = 77 };      // cublasComputeType_t
constexpr int tf32Math = 3;                                               // CUBLAS_TF32_TENSOR_OP_MATH
constexpr int fullPrecisionSums = 16;                                     // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
constexpr int major = 12, minor = 6, patch = 4;

struct Handle {
	void *stream = nullptr;
	int mathMode = 0;
};

// tf32 rounds to 10 explicit bits of mantissa, ties away from zero.
float tf32(float f) {
	uint32_t bits;
	memcpy(&bits, &f, 4);
	if ((bits & 0x7f800000) != 0x7f800000) bits = (bits + 0x1000) & 0xffffe000;
	memcpy(&f, &bits, 4);
	return f;
}

float fromBfloat16(uint16_t half) {
	uint32_t bits = uint32_t(half) << 16;
	float f;
	memcpy(&f, &bits, 4);
	return f;
}

// toBfloat16 rounds to 7 explicit bits of mantissa, ties to even.
uint16_t toBfloat16(float f) {
	uint32_t bits;
	memcpy(&bits, &f, 4);
	if (f != f) return 0x7fff;
	return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct Matrix {
	void *data;
	int type, stride; // stride is the leading dimension: from a column to the next
	bool transposed;
};

// Product is C = alpha A B + beta C with A of m x k, B of k x n and C of m x n.
struct Product {
	int m, n, k;
	Matrix a, b, c;
	double alpha, beta;
	bool rounded; // to TF32
	bool reduced; // the sums of parts of the depth are rounded to bfloat16
};

size_t bytes(int type) { return type == real64 ? 8 : type == bfloat16 ? 2 : 4; }

template <typename T> T load(const void *data, size_t i, int type) {
	switch (type) {
	case real64: return T(static_cast<const double *>(data)[i]);
	case bfloat16: return T(fromBfloat16(static_cast<const uint16_t *>(data)[i]));
	}
	return T(static_cast<const float *>(data)[i]);
}

template <typename T> void store(void *data, size_t i, int type, T value) {
	switch (type) {
	case real64: static_cast<double *>(data)[i] = double(value); break;
	case bfloat16: static_cast<uint16_t *>(data)[i] = toBfloat16(float(value)); break;
	default: static_cast<float *>(data)[i] = float(value);
	}
}

// dense is a copy of the matrix, by columns without padding, in the type of the sums.
template <typename T> std::vector<T> dense(const Matrix &m, int rows, int columns, bool rounded) {
	std::vector<T> out(size_t(rows) * size_t(columns));
	for (int c = 0; c < columns; c++)
		for (int r = 0; r < rows; r++) {
			size_t from = m.transposed ? size_t(c) + size_t(r) * size_t(m.stride) : size_t(r) + size_t(c) * size_t(m.stride);
			T value = load<T>(m.data, from, m.type);
			out[size_t(c) * size_t(rows) + size_t(r)] = rounded ? T(tf32(float(value))) : value;
		}
	return out;
}

template <typename T> void multiply(const Product &p) {
	auto a = dense<T>(p.a, p.m, p.k, p.rounded), b = dense<T>(p.b, p.k, p.n, p.rounded);
	std::vector<T> sums(size_t(p.m));
	// Parts of the depth may be rounded on their own, which real cuBLAS does for some sizes.
	int part = p.reduced ? (p.k + 1) / 2 : p.k;
	auto reduce = [](T sum) { return T(fromBfloat16(toBfloat16(float(sum)))); };
	for (int j = 0; j < p.n; j++) {
		std::fill(sums.begin(), sums.end(), T(0));
		std::vector<T> rounded(size_t(p.m));
		for (int l = 0; l < p.k; l++) {
			if (l > 0 && l % part == 0)
				for (size_t i = 0; i < sums.size(); i++) rounded[i] = reduce(sums[i]), sums[i] = 0;
			const T *column = &a[size_t(l) * size_t(p.m)];
			T factor = b[size_t(j) * size_t(p.k) + size_t(l)];
			for (int i = 0; i < p.m; i++) sums[size_t(i)] += column[i] * factor;
		}
		for (int i = 0; i < p.m; i++) {
			if (p.reduced) sums[size_t(i)] = rounded[size_t(i)] + reduce(sums[size_t(i)]);
			size_t at = size_t(i) + size_t(j) * size_t(p.c.stride);
			// Where beta is 0, C is not read: it may be NaN.
			T before = p.beta == 0 ? T(0) : T(p.beta) * load<T>(p.c.data, at, p.c.type);
			store(p.c.data, at, p.c.type, T(p.alpha) * sums[size_t(i)] + before);
		}
	}
}

void runProduct(void *argument) {
	std::unique_ptr<Product> p(static_cast<Product *>(argument));
	p->c.type == real64 ? multiply<double>(*p) : multiply<float>(*p);
}

// holds says whether the columns lie in the device's memory.
bool holds(const Matrix &m, int rows, int columns) {
	if (m.transposed) std::swap(rows, columns);
	size_t elements = size_t(m.stride) * size_t(columns - 1) + size_t(rows);
	return fakecuda_contains(reinterpret_cast<unsigned long long>(m.data), elements * bytes(m.type)) == 0;
}

bool strideFits(const Matrix &m, int rows, int columns) { return m.stride >= std::max(1, m.transposed ? columns : rows); }

int run(Handle *h, const Product &p) {
	if (!h) return notInitialized;
	if (p.m < 0 || p.n < 0 || p.k < 0 || !strideFits(p.a, p.m, p.k) || !strideFits(p.b, p.k, p.n) || !strideFits(p.c, p.m, p.n)) return invalidValue;
	if (p.m == 0 || p.n == 0) return success;
	if (!holds(p.c, p.m, p.n) || (p.k > 0 && (!holds(p.a, p.m, p.k) || !holds(p.b, p.k, p.n)))) return executionFailed;
	return fakecuda_enqueue(h->stream, runProduct, new Product(p)) == 0 ? success : executionFailed;
}

int capability() {
	int device, high = 0, low = 0;
	if (cuCtxGetDevice(&device) != 0) return 0;
	cuDeviceGetAttribute(&high, 75, device);
	cuDeviceGetAttribute(&low, 76, device);
	return 10 * high + low;
}

// supported says whether this library computes so on this device.
bool supported(int a, int b, int c, int compute) {
	if (a != b) return false;
	if (a == real64) return c == real64 && compute == compute64;
	if (a == real32) return c == real32 && (compute == compute32 || compute == compute32TF32);
	return a == bfloat16 && (c == bfloat16 || c == real32) && compute == compute32 && capability() >= 80;
}

double scalar(const void *p, int compute) { return compute == compute64 ? *static_cast<const double *>(p) : double(*static_cast<const float *>(p)); }

// op is 0 for the matrix itself, 1 and 2 for the transposed.
bool validOp(int op) { return op >= 0 && op <= 2; }

} // namespace

EXPORT int cublasCreate_v2(Handle **out) {
	if (int code = fakecuda_injected(__func__)) return code;
	int device;
	if (!out || cuCtxGetDevice(&device) != 0) return notInitialized;
	*out = new Handle;
	return success;
}

EXPORT int cublasDestroy_v2(Handle *h) {
	if (!h) return notInitialized;
	delete h;
	return success;
}

EXPORT int cublasSetStream_v2(Handle *h, void *stream) {
	if (int code = fakecuda_injected(__func__)) return code;
	if (!h) return notInitialized;
	h->stream = stream;
	return success;
}

EXPORT int cublasSetMathMode(Handle *h, int mode) {
	if (int code = fakecuda_injected(__func__)) return code;
	if (!h) return notInitialized;
	h->mathMode = mode;
	return success;
}

EXPORT int cublasGetVersion_v2(Handle *, int *out) {
	*out = 10000 * major + 100 * minor + patch;
	return success;
}

EXPORT int cublasGetProperty(int which, int *out) {
	const int parts[] = {major, minor, patch};
	if (which < 0 || which > 2) return invalidValue;
	*out = parts[which];
	return success;
}

EXPORT int cublasGemmEx(Handle *h, int opA, int opB, int m, int n, int k, const void *alpha, void *a, int typeA, int lda, void *b, int typeB,
	int ldb, const void *beta, void *c, int typeC, int ldc, int compute, int) {
	if (int code = fakecuda_injected(__func__)) return code;
	if (!alpha || !beta || !validOp(opA) || !validOp(opB)) return invalidValue;
	if (!supported(typeA, typeB, typeC, compute)) return notSupported;
	bool reduced = typeC == bfloat16 && !(h && h->mathMode & fullPrecisionSums);
	bool rounded = compute == compute32TF32 && capability() >= 80;
	return run(h, {m, n, k, {a, typeA, lda, opA != 0}, {b, typeB, ldb, opB != 0}, {c, typeC, ldc, false}, scalar(alpha, compute), scalar(beta, compute), rounded, reduced});
}

EXPORT int cublasSgemm_v2(Handle *h, int opA, int opB, int m, int n, int k, const float *alpha, void *a, int lda, void *b, int ldb, const float *beta, void *c, int ldc) {
	int compute = h && h->mathMode == tf32Math ? compute32TF32 : compute32;
	return cublasGemmEx(h, opA, opB, m, n, k, alpha, a, real32, lda, b, real32, ldb, beta, c, real32, ldc, compute, -1);
}

EXPORT int cublasDgemm_v2(Handle *h, int opA, int opB, int m, int n, int k, const double *alpha, void *a, int lda, void *b, int ldb, const double *beta, void *c, int ldc) {
	return cublasGemmEx(h, opA, opB, m, n, k, alpha, a, real64, lda, b, real64, ldb, beta, c, real64, ldc, compute64, -1);
}

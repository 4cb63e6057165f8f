// Cases for cuBLAS and NVML of the fake driver. The first argument names the case.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "../cuda.h"

extern "C" {
typedef struct handle *Handle;
int cublasCreate_v2(Handle *);
int cublasDestroy_v2(Handle);
int cublasSetStream_v2(Handle, Stream);
int cublasSetMathMode(Handle, int);
int cublasGetVersion_v2(Handle, int *);
int cublasGetProperty(int, int *);
int cublasGemmEx(Handle, int, int, int, int, int, const void *, Pointer, int, int, Pointer, int, int, const void *, Pointer, int, int, int, int);
int cublasSgemm_v2(Handle, int, int, int, int, int, const float *, Pointer, int, Pointer, int, const float *, Pointer, int);
int cublasDgemm_v2(Handle, int, int, int, int, int, const double *, Pointer, int, Pointer, int, const double *, Pointer, int);

typedef struct device *Device;
int nvmlInit_v2();
int nvmlShutdown();
const char *nvmlErrorString(int);
int nvmlSystemGetDriverVersion(char *, unsigned);
int nvmlDeviceGetCount_v2(unsigned *);
int nvmlDeviceGetHandleByIndex_v2(unsigned, Device *);
int nvmlDeviceGetHandleByUUID(const char *, Device *);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device, Device *);
int nvmlDeviceGetUUID(Device, char *, unsigned);
int nvmlDeviceGetName(Device, char *, unsigned);
int nvmlDeviceGetPowerUsage(Device, unsigned *);
int nvmlDeviceGetClockInfo(Device, int, unsigned *);
int nvmlDeviceGetMemoryInfo(Device, unsigned long long *);
}

namespace {

void say(const char *what, int code) { printf("%s %d\n", what, code); }

void must(int code) {
	if (code == 0) return;
	printf("setup %d\n", code);
	exit(1);
}

constexpr int real32 = 0, real64 = 1, bfloat16 = 14, compute32 = 68, compute64 = 70, tf32 = 77;
const float one = 1, zero = 0;
const double one64 = 1, zero64 = 0;

// BLAS is a device with its context current, and a handle.
struct BLAS {
	Handle handle = nullptr;
	BLAS() {
		must(cuInit(0));
		Context c;
		must(cuDevicePrimaryCtxRetain(&c, 0));
		must(cuCtxSetCurrent(c));
		must(cublasCreate_v2(&handle));
	}
	template <typename T> Pointer matrix(const std::vector<T> &values) {
		Pointer p;
		must(cuMemAlloc_v2(&p, values.size() * sizeof(T)));
		must(cuMemcpyHtoD_v2(p, values.data(), values.size() * sizeof(T)));
		return p;
	}
	template <typename T> void print(const char *what, Pointer p, size_t n) {
		std::vector<T> got(n);
		must(cuMemcpyDtoH_v2(got.data(), p, n * sizeof(T)));
		printf("%s", what);
		for (T v : got) printf(" %g", double(v));
		printf("\n");
	}
};

// a is 2x3 and b is 3x2, by columns: a b is 58 64; 139 154.
const std::vector<float> a = {1, 4, 2, 5, 3, 6}, b = {7, 9, 11, 8, 10, 12};
const std::vector<float> aTransposed = {1, 2, 3, 4, 5, 6}, nan2x2 = {NAN, NAN, NAN, NAN};

void products() {
	BLAS s;
	auto A = s.matrix(a), B = s.matrix(b), T = s.matrix(aTransposed), C = s.matrix(nan2x2);
	say("plain", cublasSgemm_v2(s.handle, 0, 0, 2, 2, 3, &one, A, 2, B, 3, &zero, C, 2));
	s.print<float>("C", C, 4);
	const float two = 2, half = 0.5;
	say("transposed", cublasSgemm_v2(s.handle, 1, 0, 2, 2, 3, &two, T, 3, B, 3, &half, C, 2));
	s.print<float>("C", C, 4);
	auto A64 = s.matrix(std::vector<double>(a.begin(), a.end())), B64 = s.matrix(std::vector<double>(b.begin(), b.end())), C64 = s.matrix(std::vector<double>(4));
	say("float64", cublasDgemm_v2(s.handle, 0, 0, 2, 2, 3, &one64, A64, 2, B64, 3, &zero64, C64, 2));
	s.print<double>("C", C64, 4);
	// The rows of 8 of the larger matrix: only the first two of each column are written.
	auto wide = s.matrix(std::vector<float>(16, -1));
	say("padded", cublasSgemm_v2(s.handle, 0, 0, 2, 2, 3, &one, A, 2, B, 3, &zero, wide, 8));
	s.print<float>("C", wide, 16);
}

void precisions() {
	BLAS s;
	const float fine = 1 + 1.f / 4096; // TF32 has 10 bits behind the first
	auto A = s.matrix(std::vector<float>{fine}), C = s.matrix(std::vector<float>{0});
	auto times = [&](const char *what, int compute) {
		say(what, cublasGemmEx(s.handle, 0, 0, 1, 1, 1, &one, A, real32, 1, A, real32, 1, &zero, C, real32, 1, compute, -1));
		float got;
		must(cuMemcpyDtoH_v2(&got, C, 4));
		printf("%s\n", got == 1 ? "rounded" : got == fine * fine ? "exact" : "wrong");
	};
	times("float32", compute32);
	times("tf32", tf32);
	must(cublasSetMathMode(s.handle, 3));
	must(cublasSgemm_v2(s.handle, 0, 0, 1, 1, 1, &one, A, 1, A, 1, &zero, C, 1));
	s.print<float>("by mode", C, 1);
	// bfloat16: 3 times 1.5 is 4.5, and 257 becomes 256.
	auto H = s.matrix(std::vector<uint16_t>{0x4040, 0x3fc0}), D = s.matrix(std::vector<uint16_t>{0});
	say("bfloat16", cublasGemmEx(s.handle, 0, 0, 1, 1, 1, &one, H, bfloat16, 1, H + 2, bfloat16, 1, &zero, D, bfloat16, 1, compute32, -1));
	uint16_t got;
	must(cuMemcpyDtoH_v2(&got, D, 2));
	printf("%#x\n", got);
	const float odd = 257.f / 4.5f;
	say("bfloat16", cublasGemmEx(s.handle, 0, 0, 1, 1, 1, &odd, H, bfloat16, 1, H + 2, bfloat16, 1, &zero, D, bfloat16, 1, compute32, -1));
	must(cuMemcpyDtoH_v2(&got, D, 2));
	printf("%#x\n", got);
}

void refused() {
	BLAS s;
	auto A = s.matrix(a), B = s.matrix(b), C = s.matrix(nan2x2);
	auto attempt = [&](const char *what, int k, int lda, Pointer c, int type, int compute) {
		say(what, cublasGemmEx(s.handle, 0, 0, 2, 2, k, &one, A, type, lda, B, type, 4, &zero, c, type, 2, compute, -1));
	};
	attempt("stride", 3, 1, C, real32, compute32);
	attempt("negative", -1, 2, C, real32, compute32);
	attempt("type and compute", 3, 2, C, real32, compute64);
	attempt("too deep for A", 4, 2, C, real32, compute32);
	attempt("outside of C", 3, 2, C + 4, real32, compute32);
	attempt("C of the host", 3, 2, reinterpret_cast<Pointer>(&s), real32, compute32);
	say("no handle", cublasSgemm_v2(nullptr, 0, 0, 2, 2, 3, &one, A, 2, B, 3, &zero, C, 2));
	must(cuCtxSetCurrent(nullptr));
	Handle other;
	say("no context", cublasCreate_v2(&other));
	attempt("no context", 3, 2, C, real32, compute32);
}

// ordered changes A on the stream after the product was put on it.
void ordered() {
	BLAS s;
	Stream stream;
	must(cuStreamCreate(&stream, 1));
	must(cublasSetStream_v2(s.handle, stream));
	auto A = s.matrix(a), B = s.matrix(b), C = s.matrix(nan2x2);
	must(cublasSgemm_v2(s.handle, 0, 0, 2, 2, 3, &one, A, 2, B, 3, &zero, C, 2));
	must(cuMemsetD8Async(A, 0, 24, stream));
	s.print<float>("before", C, 1);
	must(cuStreamSynchronize(stream));
	s.print<float>("after", C, 4);
}

void version() {
	int whole, parts[3];
	must(cublasGetVersion_v2(nullptr, &whole));
	for (int i = 0; i < 3; i++) must(cublasGetProperty(i, &parts[i]));
	say("agree", whole == 10000 * parts[0] + 100 * parts[1] + parts[2]);
	say("fourth", cublasGetProperty(3, &whole));
}

// uuidOf is how the driver of CUDA says it, which NVML has to know.
std::string uuidOf(int device) {
	unsigned char u[16];
	must(cuDeviceGetUuid_v2(u, device));
	std::string out = "GPU-";
	for (int i = 0; i < 16; i++) {
		char hex[4];
		snprintf(hex, sizeof hex, "%02x%s", u[i], i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
		out += hex;
	}
	return out;
}

void cards() {
	must(cuInit(0));
	char text[96];
	say("before", nvmlSystemGetDriverVersion(text, sizeof text));
	must(nvmlInit_v2());
	must(nvmlSystemGetDriverVersion(text, sizeof text));
	printf("driver %s\n", text);
	unsigned count, watts, clock;
	must(nvmlDeviceGetCount_v2(&count));
	say("count", int(count));
	Device d;
	say("by uuid", nvmlDeviceGetHandleByUUID(uuidOf(1).c_str(), &d));
	must(nvmlDeviceGetUUID(d, text, sizeof text));
	say("same", uuidOf(1) == text);
	say("short", nvmlDeviceGetUUID(d, text, 8));
	say("power", nvmlDeviceGetPowerUsage(d, &watts));
	say("clock", nvmlDeviceGetClockInfo(d, 2, &clock));
	say("clock", int(clock));
	say("unknown", nvmlDeviceGetHandleByUUID("GPU-0", &d));
	say("beyond", nvmlDeviceGetHandleByIndex_v2(2, &d));
	printf("%s\n", nvmlErrorString(3));
	must(nvmlShutdown());
	say("after", nvmlDeviceGetCount_v2(&count));
}

void instances() {
	must(cuInit(0));
	must(nvmlInit_v2());
	std::string uuid = uuidOf(0);
	Device d, whole;
	say("as a card", nvmlDeviceGetHandleByUUID(uuid.c_str(), &d));
	say("as an instance", nvmlDeviceGetHandleByUUID(uuid.replace(0, 3, "MIG").c_str(), &d));
	say("card", nvmlDeviceGetDeviceHandleFromMigDeviceHandle(d, &whole));
	unsigned long long part[3], all[3];
	must(nvmlDeviceGetMemoryInfo(d, part));
	must(nvmlDeviceGetMemoryInfo(whole, all));
	say("a seventh", part[0] == all[0] / 7);
}

const std::map<std::string, void (*)()> cases = {
	{"products", products}, {"precisions", precisions}, {"refused", refused}, {"ordered", ordered}, {"version", version}, {"cards", cards}, {"instances", instances},
};

} // namespace

int main(int count, char **arguments) {
	if (count < 2 || !cases.count(arguments[1])) return 2;
	cases.at(arguments[1])();
	fflush(stdout);
	return 0;
}

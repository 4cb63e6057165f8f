// Cases for the fake driver, each of which prints what came out of it. The first argument
// names the case, the second is the file with the PTX.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../cuda.h"

namespace {

std::string ptx;

void say(const char *what, int code) { printf("%s %d\n", what, code); }

// must ends the program where the case needs that call to succeed.
void must(int code) {
	if (code == 0) return;
	printf("setup %d\n", code);
	exit(1);
}

struct Dim {
	unsigned x, y, z;
};

// Setup is a device with its context current and the kernels loaded.
struct Setup {
	Module module = nullptr;
	Setup() {
		must(cuInit(0));
		Context c;
		must(cuDevicePrimaryCtxRetain(&c, 0));
		must(cuCtxSetCurrent(c));
		must(load(ptx));
	}
	int load(const std::string &text) { return cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr); }
	Function function(const char *name) {
		Function f;
		must(cuModuleGetFunction(&f, module, name));
		return f;
	}
	Pointer array(const std::vector<float> &values) {
		Pointer p = alloc(values.size() * 4);
		must(cuMemcpyHtoD_v2(p, values.data(), values.size() * 4));
		return p;
	}
	Pointer alloc(size_t size) {
		Pointer p;
		must(cuMemAlloc_v2(&p, size));
		return p;
	}
	Stream stream() {
		Stream s;
		must(cuStreamCreate(&s, 1));
		return s;
	}
	Event event() {
		Event e;
		must(cuEventCreate(&e, 0));
		return e;
	}
	std::vector<float> values(Pointer p, size_t n) {
		std::vector<float> out(n);
		must(cuMemcpyDtoH_v2(out.data(), p, n * 4));
		return out;
	}
	template <typename... A> int launchOn(Stream s, const char *name, Dim grid, Dim block, unsigned shared, A... arguments) {
		void *places[] = {&arguments..., nullptr};
		return cuLaunchKernel(function(name), grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, s, places, nullptr);
	}
	template <typename... A> int launch(const char *name, unsigned grid, unsigned block, unsigned shared, A... arguments) {
		return launchOn(nullptr, name, {grid, 1, 1}, {block, 1, 1}, shared, arguments...);
	}
};

std::vector<float> sequence(size_t n) {
	std::vector<float> v(n);
	std::iota(v.begin(), v.end(), 0.f);
	return v;
}

void good() {
	Setup s;
	auto in = s.array(sequence(1000)), out = s.alloc(4000);
	say("launch", s.launch("times_scale", 4, 256, 0, out, in, 1000));
	auto got = s.values(out, 1000);
	int wrong = 0;
	for (int i = 0; i < 1000; i++) wrong += got[size_t(i)] != float(i) * float(i % 4 + 1);
	say("wrong", wrong);
}

void variable() {
	Setup s;
	auto in = s.array({1, 1, 1, 1}), out = s.alloc(16);
	Pointer p;
	size_t size;
	must(cuModuleGetGlobal_v2(&p, &size, s.module, "scale"));
	say("size", int(size));
	float other[] = {5, 6, 7, 8};
	must(cuMemcpyHtoD_v2(p, other, 16));
	must(s.launch("times_scale", 1, 4, 0, out, in, 4));
	for (float v : s.values(out, 4)) say("value", int(v));
	say("unknown", cuModuleGetGlobal_v2(&p, &size, s.module, "none"));
}

void mixed() {
	Setup s;
	auto out = s.alloc(8);
	must(s.launch("mixed", 1, 1, 0, out, -1, 20u, 300ll, 4000.5f, 50000.25));
	double got;
	must(cuMemcpyDtoH_v2(&got, out, 8));
	printf("sum %.2f\n", got);
}

void where() {
	Setup s;
	auto out = s.alloc(4 * 2 * 3 * 2 * 8 * 4 * 2);
	must(s.launchOn(nullptr, "where", {2, 3, 2}, {8, 4, 2}, 0, out));
	std::vector<unsigned> got(2 * 3 * 2 * 8 * 4 * 2);
	must(cuMemcpyDtoH_v2(got.data(), out, got.size() * 4));
	int wrong = 0;
	for (size_t i = 0; i < got.size(); i++) wrong += got[i] != i;
	say("wrong", wrong);
}

void vector() {
	Setup s;
	auto in = s.array(sequence(8)), out = s.alloc(32);
	must(s.launch("vector", 1, 2, 0, out, in));
	for (float v : s.values(out, 8)) say("value", int(v));
}

// barrier counts what is wrong with and without the barrier.
void barrier(const char *kernel, const std::function<float(int)> &want) {
	Setup s;
	for (int with = 1; with >= 0; with--) {
		auto in = s.array(sequence(512)), out = s.alloc(2048);
		must(s.launch(kernel, 2, 256, 0, out, in, with));
		auto got = s.values(out, 512);
		int wrong = 0;
		for (int i = 0; i < 512; i++) wrong += got[size_t(i)] != want(i);
		printf("%s: %s\n", with ? "with barrier" : "without", wrong ? "wrong" : "right");
	}
}

void reversed() {
	barrier("reverse", [](int i) { return float(i / 256 * 256 + 255 - i % 256); });
}

void shifted() {
	barrier("shift", [](int i) { return i % 256 ? float(i - 1) : 0; });
}

void unwritten() {
	Setup s;
	auto out = s.alloc(32);
	for (int i = 0; i < 2; i++) must(s.launch("stale", 1, 1, 0 + 4, out));
	auto got = s.values(out, 3);
	printf("static %s, dynamic %s, memory %s\n", std::isnan(got[0]) ? "NaN" : "number", std::isnan(got[1]) ? "NaN" : "number", std::isnan(got[2]) ? "NaN" : "number");
}

void noGuard() {
	Setup s;
	auto out = s.alloc(4 * 250);
	say("launch", s.launch("no_guard", 1, 256, 0, out));
	say("next", cuCtxSynchronize());
	say("free", cuMemFree_v2(out));
}

// readBeyond has arrays of 1000 numbers and says that they have 1001.
void readBeyond() {
	Setup s;
	auto in = s.array(sequence(1000)), out = s.alloc(4004);
	must(s.launch("times_scale", 4, 256, 0, out, in, 1001));
	say("next", cuCtxSynchronize());
}

void beyondShared() {
	Setup s;
	auto out = s.alloc(4);
	must(s.launch("row", 1, 1, 0, out, 65));
}

void misaligned() {
	Setup s;
	auto in = s.array(sequence(9)), out = s.alloc(36);
	must(s.launch("vector", 1, 2, 0, out, in + 4));
}

void dynamicShared() {
	Setup s;
	auto out = s.alloc(4);
	for (auto name : {"reverse", "row", "sum_dynamic"}) {
		int size;
		must(cuFuncGetAttribute(&size, 1, s.function(name)));
		say(name, size);
	}
	must(s.launch("sum_dynamic", 1, 32, 4000, out, 1000));
	say("sum", int(s.values(out, 1)[0]));
	say("too much", s.launch("sum_dynamic", 1, 32, 48 * 1024 + 4, out, 1));
	auto f = s.function("sum_dynamic");
	say("allow beyond the device", cuFuncSetAttribute(f, 8, 228 << 10));
	say("allow", cuFuncSetAttribute(f, 8, 100 << 10));
	say("much", s.launch("sum_dynamic", 1, 32, 100 << 10, out, 25600));
	say("sum", int(s.values(out, 1)[0]));
	say("written beyond", s.launch("sum_dynamic", 1, 32, 4000, out, 1001));
	say("next", cuCtxSynchronize());
}

void someLeave() {
	Setup s;
	say("launch", s.launch("some_leave", 1, 64, 0, 32));
	say("next", cuCtxSynchronize());
}

void limits() {
	Setup s;
	auto attempt = [&](const char *what, Dim grid, Dim block) { say(what, s.launchOn(nullptr, "some_leave", grid, block, 0, 0)); };
	attempt("1025 threads", {1, 1, 1}, {1025, 1, 1});
	attempt("2048 threads", {1, 1, 1}, {64, 32, 1});
	attempt("65 deep", {1, 1, 1}, {1, 1, 65});
	attempt("65536 blocks along y", {1, 65536, 1}, {1, 1, 1});
	attempt("65536 blocks along z", {1, 1, 65536}, {1, 1, 1});
	attempt("no blocks", {0, 1, 1}, {1, 1, 1});
	attempt("many blocks", {1, 65535, 1}, {1, 1, 1});
	say("within the bounds", s.launch("bounded", 1, 64, 0));
	say("beyond the bounds", s.launch("bounded", 1, 65, 0));
}

void copies() {
	Setup s;
	auto p = s.alloc(100), q = s.alloc(100);
	std::vector<char> host(400);
	say("whole", cuMemcpyHtoD_v2(p, host.data(), 100));
	say("too long in", cuMemcpyHtoD_v2(p, host.data(), 101));
	say("too long out", cuMemcpyDtoH_v2(host.data(), p + 1, 100));
	say("too long over", cuMemcpyDtoDAsync_v2(p, q, 101, nullptr));
	say("too long fill", cuMemsetD8Async(p + 50, 0, 51, nullptr));
	say("below", cuMemcpyHtoD_v2(p - 1, host.data(), 10));
	say("sides swapped", cuMemcpyHtoD_v2(reinterpret_cast<Pointer>(host.data()), reinterpret_cast<void *>(p), 100));
	void *pinned;
	must(cuMemHostAlloc(&pinned, 50, 0));
	say("beyond pinned", cuMemcpyDtoHAsync_v2(pinned, p, 51, nullptr));
	// Rows of 8 bytes: 20 bytes apart on the host, without a gap on the device.
	auto rows = [&](const char *what, Pointer to, size_t width, size_t count) {
		Copy2D c{0, 0, 1, host.data(), 0, nullptr, 20, 0, 0, 2, nullptr, to, nullptr, 8, width, count};
		say(what, cuMemcpy2DAsync_v2(&c, nullptr));
	};
	rows("rows", p, 8, 12);
	rows("too many rows", p, 8, 13);
	rows("rows beyond the pitch", p, 9, 2);
	Copy2D out{0, 0, 2, nullptr, p, nullptr, 8, 0, 0, 1, pinned, 0, nullptr, 21, 8, 3};
	say("rows out", cuMemcpy2DAsync_v2(&out, nullptr));
	out.dstPitch = 22;
	say("rows beyond pinned", cuMemcpy2DAsync_v2(&out, nullptr));
	out.dstMemory = 3;
	say("rows of an array", cuMemcpy2DAsync_v2(&out, nullptr));
	must(cuMemFree_v2(q));
	say("after free", cuMemcpyHtoD_v2(q, host.data(), 1));
}

void memory() {
	Setup s;
	size_t free, total;
	must(cuMemGetInfo_v2(&free, &total));
	printf("free %zu of %zu\n", free >> 20, total >> 20);
	Pointer p, q;
	say("too much", cuMemAlloc_v2(&p, total + 1));
	say("nothing", cuMemAlloc_v2(&p, 0));
	say("alloc", cuMemAlloc_v2(&p, 3 << 20));
	say("aligned", int(p % 256));
	say("alloc", cuMemAlloc_v2(&q, 2 << 20));
	say("free", cuMemFree_v2(p));
	say("free again", cuMemFree_v2(p));
	say("free within", cuMemFree_v2(q + 256));
	void *pinned;
	must(cuMemHostAlloc(&pinned, 50, 0));
	say("free host", cuMemFreeHost(pinned));
	say("free host again", cuMemFreeHost(pinned));
}

void pointers() {
	Setup s;
	auto out = s.alloc(400), in = s.alloc(400);
	must(cuMemFree_v2(in));
	say("launch", s.launch("times_scale", 1, 64, 0, out, in, 64));
	say("next", cuCtxSynchronize());
}

void otherThread() {
	Setup s;
	auto p = s.alloc(100);
	std::thread([&] { say("other thread", cuMemFree_v2(p)); }).join();
	say("this thread", cuMemFree_v2(p));
	must(cuDevicePrimaryCtxRelease_v2(0));
	say("after release", cuMemAlloc_v2(&p, 1));
	say("release again", cuDevicePrimaryCtxRelease_v2(0));
}

void handles() {
	Setup s;
	auto stream = s.stream();
	auto e = s.event(), f = s.event();
	float ms;
	say("not recorded", cuEventElapsedTime(&ms, e, f));
	must(cuEventRecord(e, stream));
	must(cuEventDestroy_v2(f));
	say("destroyed event", cuEventRecord(f, stream));
	must(cuStreamDestroy_v2(stream));
	say("destroyed stream", cuStreamSynchronize(stream));
	Function function;
	say("unknown function", cuModuleGetFunction(&function, s.module, "none"));
	must(cuModuleGetFunction(&function, s.module, "bounded"));
	must(cuModuleUnload(s.module));
	say("unloaded", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
	say("unloaded twice", cuModuleUnload(s.module));
}

std::string replaced(std::string text, const std::string &what, const std::string &by) {
	auto at = text.find(what);
	return at == std::string::npos ? "" : text.replace(at, what.size(), by);
}

void images() {
	Setup s;
	auto attempt = [&](const char *what, const std::string &image) {
		char log[300] = "";
		int options[] = {5, 6};
		void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
		Module m;
		int code = cuModuleLoadDataEx(&m, image.c_str(), 2, options, values);
		printf("%s %d %s\n", what, code, log);
	};
	attempt("good", ptx);
	attempt("too new", replaced(ptx, ".version 6.3", ".version 7.1"));
	attempt("old enough", replaced(ptx, ".version 6.3", ".version 7.0"));
	attempt("other device", replaced(ptx, "sm_70", "sm_86"));
	attempt("one device", replaced(ptx, "sm_70", "sm_70a"));
	attempt("no version", replaced(ptx, ".version 6.3", ""));
	attempt("unknown kernel", replaced(ptx, "no_guard(", "no_gourd("));
	attempt("other parameters", replaced(ptx, ".param .u64 no_guard_param_0", ".param .u32 no_guard_param_0"));
	attempt("other variable", replaced(ptx, "scale[16]", "scale[20]"));
	attempt("no text", ptx + "\x01\x02");
}

// async changes pinned memory after it has asked for a copy of it, and reads the copy back
// before it has waited.
void async() {
	Setup s;
	auto stream = s.stream();
	auto p = s.alloc(4);
	void *pinned, *back;
	must(cuMemHostAlloc(&pinned, 4, 0));
	must(cuMemHostAlloc(&back, 4, 0));
	auto in = static_cast<volatile float *>(pinned), out = static_cast<volatile float *>(back);
	*in = 1;
	*out = 0;
	must(cuMemcpyHtoDAsync_v2(p, pinned, 4, stream));
	must(cuMemcpyDtoHAsync_v2(back, p, 4, stream));
	say("before", int(*out));
	*in = 2;
	say("query", cuStreamQuery(stream));
	must(cuStreamSynchronize(stream));
	say("after", int(*out));
	say("query", cuStreamQuery(stream));
}

// events orders two streams by an event, and measures between events.
void events() {
	Setup s;
	auto first = s.stream(), second = s.stream();
	auto begin = s.event(), made = s.event();
	auto a = s.array({1, 1}), b = s.alloc(8), c = s.alloc(8);
	must(cuEventRecord(begin, first));
	must(s.launchOn(first, "times_scale", {1, 1, 1}, {2, 1, 1}, 0, b, a, 2));
	must(cuEventRecord(made, first));
	must(cuStreamWaitEvent(second, made, 0));
	must(s.launchOn(second, "times_scale", {1, 1, 1}, {2, 1, 1}, 0, c, b, 2));
	float ms = -1;
	say("elapsed", cuEventElapsedTime(&ms, begin, made));
	must(cuStreamSynchronize(second));
	say("value", int(s.values(c, 2)[1]));
	say("elapsed", cuEventElapsedTime(&ms, begin, made));
	printf("time is %s\n", ms >= 0 && ms < 10000 ? "plausible" : "not");
	say("wait", cuEventSynchronize(made));
}

// unordered forgets the event between two streams.
void unordered() {
	Setup s;
	auto first = s.stream(), second = s.stream();
	auto a = s.array({3}), b = s.array({0}), c = s.alloc(4);
	must(s.launchOn(first, "times_scale", {1, 1, 1}, {1, 1, 1}, 0, b, a, 1));
	must(s.launchOn(second, "times_scale", {1, 1, 1}, {1, 1, 1}, 0, c, b, 1));
	must(cuStreamSynchronize(second));
	must(cuStreamSynchronize(first));
	say("value", int(s.values(c, 1)[0]));
}

// legacy orders a stream with the default one, by which the copies of Setup go.
void legacy() {
	Setup s;
	Stream stream;
	must(cuStreamCreate(&stream, 0));
	auto a = s.array({3}), b = s.alloc(4);
	must(s.launchOn(stream, "times_scale", {1, 1, 1}, {1, 1, 1}, 0, b, a, 1));
	say("value", int(s.values(b, 1)[0]));
}

void fail() {
	Setup s;
	Pointer p;
	for (int i = 0; i < 4; i++) say("alloc", cuMemAlloc_v2(&p, 4));
	say("synchronize", cuCtxSynchronize());
	say("synchronize", cuCtxSynchronize());
}

void init() {
	Context c;
	say("before", cuDevicePrimaryCtxRetain(&c, 0));
	say("init", cuInit(0));
	int version = 0, count = -1;
	say("version", cuDriverGetVersion(&version));
	say("version", version);
	say("count", cuDeviceGetCount(&count));
	say("count", count);
	say("beyond", cuDevicePrimaryCtxRetain(&c, 2));
}

void properties() {
	must(cuInit(0));
	char name[64], bus[16];
	unsigned char uuid[16], other[16];
	must(cuDeviceGetName(name, sizeof name, 1));
	must(cuDeviceGetPCIBusId(bus, sizeof bus, 1));
	must(cuDeviceGetUuid_v2(uuid, 0));
	must(cuDeviceGetUuid_v2(other, 1));
	size_t bytes;
	must(cuDeviceTotalMem_v2(&bytes, 0));
	printf("%s %s %zu\n", name, bus, bytes >> 20);
	say("same uuid", memcmp(uuid, other, 16) == 0);
	for (int a : {75, 76, 97, 33, 0}) {
		int v = -1;
		int code = cuDeviceGetAttribute(&v, a, 1);
		printf("attribute %d: %d %d\n", a, code, v);
	}
}

// leaks releases a context that still has memory and a stream.
void leaks() {
	Setup s;
	must(cuModuleUnload(s.module));
	s.alloc(100);
	s.stream();
	must(cuDevicePrimaryCtxRelease_v2(0));
}

const std::map<std::string, void (*)()> cases = {
	{"good", good}, {"variable", variable}, {"mixed", mixed}, {"where", where}, {"vector", vector}, {"reverse", reversed}, {"shift", shifted},
	{"unwritten", unwritten}, {"no guard", noGuard}, {"read beyond", readBeyond}, {"beyond shared", beyondShared}, {"misaligned", misaligned}, {"dynamic shared", dynamicShared}, {"some leave", someLeave}, {"limits", limits},
	{"copies", copies}, {"memory", memory}, {"pointers", pointers}, {"other thread", otherThread}, {"handles", handles}, {"images", images},
	{"async", async}, {"events", events}, {"unordered", unordered}, {"legacy", legacy}, {"fail", fail}, {"init", init}, {"properties", properties}, {"leaks", leaks},
};

} // namespace

int main(int count, char **arguments) {
	if (count != 3 || !cases.count(arguments[1])) return 2;
	std::ifstream file(arguments[2]);
	ptx.assign(std::istreambuf_iterator<char>(file), {});
	cases.at(arguments[1])();
	fflush(stdout);
	return 0;
}

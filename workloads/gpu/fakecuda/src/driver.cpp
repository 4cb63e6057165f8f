#include "driver.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <pthread.h>
#include <sstream>

#include "config.h"

namespace fakecuda {

namespace {

std::mutex lock; // of what follows
Config configuration;
std::map<std::string, long> calls;
bool initialized;
// Devices stay once they are made, because other threads may look at them; as many as
// count are there for the program.
constexpr int most = 64;
std::array<std::unique_ptr<Device>, most> all;
std::atomic<int> count;

void say(const char *format, va_list arguments) {
	char line[1024];
	vsnprintf(line, sizeof line, format, arguments);
	fprintf(stderr, "fakecuda: %s\n", line);
}

// parseFail reads name:code:nth, separated by commas.
std::multimap<std::string, Injected> parseFail(const std::string &value) {
	std::multimap<std::string, Injected> out;
	std::istringstream entries(value);
	for (std::string entry; std::getline(entries, entry, ',');) {
		char name[128];
		int code;
		long nth;
		if (sscanf(entry.c_str(), "%127[^:]:%d:%ld", name, &code, &nth) == 3) out.insert({name, {code, nth}});
		else fprintf(stderr, "fakecuda: FAKECUDA_FAIL has %s, want name:code:nth\n", entry.c_str());
	}
	return out;
}

// The contexts of a thread. They are not thread-local variables, because those are the
// shared memory of kernels.
pthread_key_t stackKey;
[[maybe_unused]] const int stackKeyMade = pthread_key_create(&stackKey, [](void *p) { delete static_cast<std::vector<Device *> *>(p); });

} // namespace

void explain(const char *format, ...) {
	if (!config().trace) return;
	va_list arguments;
	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

void complain(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

const Config &config() { return configuration; }

int begin(const char *name) {
	std::lock_guard<std::mutex> hold(lock);
	long n = ++calls[name];
	auto [first, last] = configuration.fail.equal_range(name);
	for (auto it = first; it != last; ++it)
		if (it->second.nth == n) return it->second.code;
	return initialized ? Success : NotInitialized;
}

int end(const char *name, int code) {
	if (configuration.trace) complain("%s = %d", name, code);
	return code;
}

int devices() { return count; }

Device *deviceAt(int ordinal) { return ordinal >= 0 && ordinal < count ? all[size_t(ordinal)].get() : nullptr; }

std::vector<Device *> &contextStack() {
	auto stack = static_cast<std::vector<Device *> *>(pthread_getspecific(stackKey));
	if (!stack) {
		stack = new std::vector<Device *>;
		pthread_setspecific(stackKey, stack);
	}
	return *stack;
}

// A released context is none, although the thread still names it.
Device *currentDevice() {
	auto &stack = contextStack();
	if (stack.empty() || !stack.back()) return nullptr;
	for (int i = 0; i < count; i++)
		if (all[size_t(i)].get() == stack.back()) return stack.back()->references > 0 ? stack.back() : nullptr;
	return nullptr;
}

// A fault ends the context: only another process gets the device back.
bool permanent(int code) { return code == 214 || code == IllegalAddress || code == 702 || (code >= 714 && code <= LaunchFailed); }

Stream *streamOf(Device &d, CUstream s) {
	if (reinterpret_cast<uintptr_t>(s) <= 2) return &d.legacy;
	if (d.streams.count(s)) return s;
	explain("%p is no stream of device %d", static_cast<void *>(s), d.ordinal);
	return nullptr;
}

namespace {

int initialize() {
	std::lock_guard<std::mutex> hold(lock);
	configuration.driver = int(number("FAKECUDA_DRIVER", 13000));
	configuration.capability = capability();
	configuration.memory = memoryBytes();
	configuration.late = number("FAKECUDA_LATE", 0) != 0;
	configuration.trace = number("FAKECUDA_TRACE", 0) != 0;
	configuration.fail = parseFail(text("FAKECUDA_FAIL"));
	calls.clear();
	calls["cuInit"] = 1;
	initialized = false;
	std::string hang = text("FAKECUDA_HANG");
	if (!hang.empty()) std::ifstream(hang).get();
	if (int code = int(number("FAKECUDA_INIT", 0))) return code;
	auto [first, last] = configuration.fail.equal_range("cuInit");
	if (first != last) return first->second.code;
	if (deviceCount() <= 0) return NoDevice;
	initialized = true;
	int wanted = std::min(deviceCount(), most);
	for (int i = count; i < wanted; i++)
		if (!all[size_t(i)]) all[size_t(i)] = std::make_unique<Device>(i);
	count = wanted;
	return Success;
}

} // namespace

} // namespace fakecuda

using namespace fakecuda;

// cuInit reads the environment anew. Contexts stay as they are.
EXPORT CUresult cuInit(unsigned) { return end("cuInit", initialize()); }

EXPORT CUresult cuDriverGetVersion(int *version) {
	if (!version) return InvalidValue;
	*version = int(number("FAKECUDA_DRIVER", 13000));
	return Success;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext c) {
	return call(__func__, [&] {
		auto &stack = contextStack();
		if (!stack.empty()) stack.pop_back();
		if (c) stack.push_back(c);
		return c && !currentDevice() ? InvalidContext : Success;
	});
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *c) {
	return call(__func__, [&] {
		*c = currentDevice();
		return Success;
	});
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext c) {
	return call(__func__, [&] {
		contextStack().push_back(c);
		return currentDevice() ? Success : InvalidContext;
	});
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *c) {
	return call(__func__, [&] {
		auto &stack = contextStack();
		if (stack.empty()) return InvalidContext;
		if (c) *c = stack.back();
		stack.pop_back();
		return Success;
	});
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
	return onContext(__func__, [&](Device &d) {
		*device = d.ordinal;
		return Success;
	});
}

EXPORT CUresult cuCtxSynchronize() {
	return onContext(__func__, [](Device &d) { return d.drainAll(); });
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice device) {
	return call(__func__, [&] {
		*c = deviceAt(device);
		if (!*c) return InvalidDevice;
		std::lock_guard<std::mutex> hold((*c)->lock);
		(*c)->references++;
		return Success;
	});
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
	return call(__func__, [&] {
		Device *d = deviceAt(device);
		if (!d) return InvalidDevice;
		std::lock_guard<std::mutex> hold(d->lock);
		if (d->references == 0) return InvalidContext;
		if (--d->references == 0) d->clear();
		return Success;
	});
}

EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
	return call(__func__, [&] {
		Device *d = deviceAt(device);
		if (!d) return InvalidDevice;
		*flags = 0;
		*active = d->references > 0;
		return Success;
	});
}

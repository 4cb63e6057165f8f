// How an entry point of the driver finds what it needs, and what it answers before it
// does anything.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = fakecuda::Device *;
using CUmodule = fakecuda::Module *;
using CUfunction = fakecuda::Function *;
using CUstream = fakecuda::Stream *;
using CUevent = fakecuda::Event *;

namespace fakecuda {

// Injected is an entry of FAKECUDA_FAIL: the nth call of that function answers code.
struct Injected {
	int code;
	long nth;
};

// Config is the environment as the last cuInit has read it.
struct Config {
	int driver = 13000, capability = 90;
	size_t memory = 0; // of each device
	bool late = false, trace = false;
	std::multimap<std::string, Injected> fail;
};
const Config &config();

// begin answers an injected error, or that cuInit has not been called.
int begin(const char *name);
// end traces the answer.
int end(const char *name, int code);

// sharedLimit is the most shared memory that a block may ask for.
size_t sharedLimit();

int devices();
Device *deviceAt(int ordinal);
Device *currentDevice();
bool permanent(int code);

// call runs the body of an entry point that needs no context.
template <typename F> int call(const char *name, F body) {
	int code = begin(name);
	return end(name, code ? code : body());
}

// onContext runs the body of one that does, with the device that is current.
template <typename F> int onContext(const char *name, F body) {
	int code = begin(name);
	Device *d = currentDevice();
	if (!d) {
		if (!code) explain("%s: no context is current on this thread", name);
		return end(name, code ? code : int(InvalidContext));
	}
	std::lock_guard<std::mutex> hold(d->lock);
	if (d->fault == Success && permanent(code)) d->fault = code;
	if (d->fault != Success) code = d->fault;
	return end(name, code ? code : body(*d));
}

// streamOf is the device's stream of that handle, of which 0, 1 and 2 are the default's.
Stream *streamOf(Device &d, CUstream s);

} // namespace fakecuda

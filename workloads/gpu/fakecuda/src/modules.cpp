// Modules, their kernels and variables, and launches.
#include <cstring>
#include <thread>

#include "driver.h"

namespace fakecuda {

Room *Room::first;

namespace {

template <typename T> const T *find(std::vector<T> Room::*list, const std::string &name) {
	for (Room *r = Room::first; r; r = r->next)
		for (auto &item : r->*list)
			if (name == item.name) return &item;
	return nullptr;
}

} // namespace

const Kernel *findKernel(const std::string &name) { return find(&Room::kernels, name); }
const Variable *findVariable(const std::string &name) { return find(&Room::variables, name); }

namespace {

constexpr size_t defaultShared = 48 << 10;

// Log is where cuModuleLoadDataEx is told to write what the compiler says.
struct Log {
	char *buffer = nullptr;
	size_t size = 0;
	void **written = nullptr;

	void write(const std::string &text) const {
		if (!buffer || size == 0) return;
		size_t n = std::min(size - 1, text.size());
		memcpy(buffer, text.data(), n);
		buffer[n] = 0;
		if (written) *written = reinterpret_cast<void *>(n + 1);
	}
};

constexpr int errorLogBuffer = 5, errorLogSize = 6; // of CUjit_option

Log logOf(unsigned count, const int *options, void **values) {
	Log log;
	for (unsigned i = 0; i < count; i++) {
		if (options[i] == errorLogBuffer) log.buffer = static_cast<char *>(values[i]);
		if (options[i] != errorLogSize) continue;
		log.size = reinterpret_cast<size_t>(values[i]) & 0xffffffff; // the driver reads an unsigned
		log.written = &values[i];
	}
	return log;
}

struct Verdict {
	int code;
	std::string why;
};

std::string tenths(int n) { return std::to_string(n / 10) + "." + std::to_string(n % 10); }

Verdict judge(const PTX &ptx) {
	int most = newest(config().driver), cc = config().capability;
	if (ptx.version > most) return {UnsupportedPTX, "PTX .version " + tenths(ptx.version) + " is newer than " + tenths(most) + ", the last that this driver knows"};
	if (ptx.target > cc || (ptx.specific && ptx.target != cc)) return {NoBinaryForGPU, "PTX .target sm_" + std::to_string(ptx.target) + " does not fit sm_" + std::to_string(cc)};
	for (auto &e : ptx.entries) {
		auto k = findKernel(e.name);
		if (!k) return {InvalidPTX, e.name + " is not compiled in: its room's kernels.h has to list it"};
		bool same = k->parameters.size() == e.parameters.size();
		for (size_t i = 0; same && i < e.parameters.size(); i++) same = k->parameters[i].size == e.parameters[i];
		if (!same) return {InvalidPTX, e.name + " has other parameters in the source: the PTX is out of date"};
	}
	for (auto &s : ptx.variables) {
		auto v = findVariable(s.name);
		if (!v) return {InvalidPTX, s.name + " is not compiled in: its room's kernels.h has to list it, and it has to be __constant__"};
		if (v->size != s.size) return {InvalidPTX, s.name + " has another size in the source: the PTX is out of date"};
	}
	return {Success, ""};
}

void unload(Device &d, Module *m) {
	for (auto &[name, global] : m->globals) d.release(global.place);
	d.modules.erase(m);
	delete m;
}

int build(Device &d, const PTX &ptx, CUmodule *out) {
	auto m = new Module{ptx.version, {}, {}};
	d.modules.insert(m);
	for (auto &e : ptx.entries) {
		size_t most = e.shared < defaultShared ? defaultShared - e.shared : 0;
		m->functions[e.name] = {findKernel(e.name), m, e, most};
	}
	for (auto &s : ptx.variables) {
		uintptr_t place = 0;
		if (int code = d.allocate(s.size, false, place)) {
			unload(d, m);
			return code;
		}
		m->globals[s.name] = {findVariable(s.name), place};
	}
	// A new thread has the variables as the sources set them.
	std::thread([&] {
		for (auto &[name, global] : m->globals)
			memcpy(reinterpret_cast<void *>(global.place), global.variable->address(), global.variable->size);
	}).join();
	*out = m;
	return Success;
}

int load(Device &d, CUmodule *out, const void *image, const Log &log) {
	PTX ptx;
	auto text = static_cast<const char *>(image);
	std::string why = text ? read(text, ptx) : "there is no image";
	Verdict v = why.empty() ? judge(ptx) : Verdict{InvalidPTX, why};
	if (v.code == Success) return build(d, ptx, out);
	explain("%s", v.why.c_str());
	log.write("fakecuda: " + v.why);
	return v.code;
}

// known says whether a module of the device has the function.
bool known(Device &d, CUfunction f) {
	for (auto m : d.modules)
		for (auto &[name, function] : m->functions)
			if (&function == f) return true;
	explain("%p is no function of device %d", static_cast<void *>(f), d.ordinal);
	return false;
}

const char *beyond(const Function &f, const Grid &g) {
	size_t threads = size_t(g.threads.x) * g.threads.y * g.threads.z;
	if (threads == 0 || size_t(g.blocks.x) * g.blocks.y * g.blocks.z == 0) return "a dimension is 0";
	if (g.threads.x > 1024 || g.threads.y > 1024 || g.threads.z > 64 || threads > 1024) return "too many threads in a block";
	if (threads > f.entry.maxThreads) return "more threads than the kernel's launch bounds";
	if (g.blocks.x > 2147483647 || g.blocks.y > 65535 || g.blocks.z > 65535) return "too many blocks in the grid";
	if (g.shared > f.shared) return "more shared memory than the kernel was allowed";
	return nullptr;
}

// Arguments is a copy of those of a launch, as the driver makes one.
struct Arguments {
	std::vector<std::vector<char>> values;
	std::vector<void *> places;

	Arguments(const Kernel &k, void **from) {
		for (size_t i = 0; i < k.parameters.size(); i++) {
			auto p = static_cast<const char *>(from[i]);
			values.emplace_back(p, p + k.parameters[i].size);
		}
		for (auto &v : values) places.push_back(v.data());
	}
};

int launch(Device &d, CUfunction f, Grid grid, CUstream stream, void **from) {
	if (!known(d, f)) return InvalidHandle;
	Stream *s = streamOf(d, stream);
	if (!s) return InvalidHandle;
	auto why = beyond(*f, grid);
	if (!why && !from && !f->kernel->parameters.empty()) why = "there are no arguments";
	if (why) {
		explain("%s: %s", f->kernel->name, why);
		return InvalidValue;
	}
	auto arguments = std::make_shared<Arguments>(*f->kernel, from);
	grid.arguments = arguments->places.data();
	d.enqueue(*s, [&d, f, grid, arguments] { return d.runKernel(*f, grid); });
	return Success; // a fault is the answer of the next call
}

} // namespace

} // namespace fakecuda

using namespace fakecuda;

EXPORT CUresult cuModuleLoadData(CUmodule *out, const void *image) {
	return onContext(__func__, [&](Device &d) { return load(d, out, image, {}); });
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count, int *options, void **values) {
	return onContext(__func__, [&](Device &d) { return load(d, out, image, logOf(count, options, values)); });
}

EXPORT CUresult cuModuleUnload(CUmodule m) {
	return onContext(__func__, [&](Device &d) {
		if (!d.modules.count(m)) return int(InvalidHandle);
		int code = d.drainAll();
		unload(d, m);
		return code;
	});
}

EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name) {
	return onContext(__func__, [&](Device &d) {
		if (!d.modules.count(m)) return InvalidHandle;
		auto it = m->functions.find(name);
		if (it == m->functions.end()) return NotFound;
		*out = &it->second;
		return Success;
	});
}

EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *size, CUmodule m, const char *name) {
	return onContext(__func__, [&](Device &d) {
		if (!d.modules.count(m)) return InvalidHandle;
		auto it = m->globals.find(name);
		if (it == m->globals.end()) return NotFound;
		if (out) *out = it->second.place;
		if (size) *size = it->second.variable->size;
		return Success;
	});
}

EXPORT CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value) {
	return onContext(__func__, [&](Device &d) {
		if (!known(d, f)) return InvalidHandle;
		if (attribute != 8) return Success; // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
		if (value < 0 || size_t(value) + f->entry.shared > sharedLimit()) return InvalidValue;
		f->shared = size_t(value);
		return Success;
	});
}

EXPORT CUresult cuFuncGetAttribute(int *out, int attribute, CUfunction f) {
	return onContext(__func__, [&](Device &d) {
		if (!known(d, f)) return InvalidHandle;
		switch (attribute) {
		case 0: *out = int(f->entry.maxThreads); break;
		case 1: *out = int(f->entry.shared); break;
		case 5: *out = f->module->ptx; break;
		case 6: *out = config().capability; break;
		case 8: *out = int(f->shared); break;
		default: *out = 0;
		}
		return Success;
	});
}

EXPORT CUresult cuFuncSetCacheConfig(CUfunction f, int) {
	return onContext(__func__, [&](Device &d) { return known(d, f) ? Success : InvalidHandle; });
}

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **arguments, void **extra) {
	return onContext(__func__, [&](Device &d) {
		if (extra) return int(InvalidValue);
		return launch(d, f, {{gx, gy, gz}, {bx, by, bz}, shared, nullptr, nullptr}, s, arguments);
	});
}

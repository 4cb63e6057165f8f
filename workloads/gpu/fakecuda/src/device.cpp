#include "device.h"

#include <cstdlib>
#include <cstring>

#include "config.h"
#include "driver.h"

namespace fakecuda {

namespace {

constexpr size_t alignment = 256;

bool within(uintptr_t p, size_t size, uintptr_t start, size_t length) {
	return p >= start && p - start <= length && size <= length - (p - start);
}

// holder is the entry that starts at or before p.
template <typename M> auto holder(const M &map, uintptr_t p) {
	auto it = map.upper_bound(p);
	return it == map.begin() ? map.end() : std::prev(it);
}

} // namespace

int Device::allocate(size_t size, bool counted, uintptr_t &out) {
	if (size == 0) return InvalidValue;
	size_t total = config().memory;
	if (size > total - used) {
		explain("device %d has %zu bytes free of %zu, and %zu were asked for", ordinal, total - used, total, size);
		return OutOfMemory;
	}
	void *block;
	if (posix_memalign(&block, alignment, size + 2 * margin()) != 0) return OutOfMemory;
	char *start = static_cast<char *>(block) + margin();
	poison(start, size);
	guard(start - margin());
	guard(start + size);
	out = reinterpret_cast<uintptr_t>(start);
	memory[out] = {size, block, counted};
	used += size;
	return Success;
}

int Device::release(uintptr_t p) {
	auto it = memory.find(p);
	if (it == memory.end()) {
		explain("device %d has no allocation at %#zx", ordinal, size_t(p));
		return InvalidValue;
	}
	used -= it->second.size;
	poison(reinterpret_cast<void *>(p), it->second.size);
	free(it->second.block);
	memory.erase(it);
	return Success;
}

bool Device::contains(uintptr_t p, size_t size) const {
	auto it = holder(memory, p);
	return it != memory.end() && within(p, size, it->first, it->second.size);
}

int Device::enqueue(Stream &s, std::function<int()> run, std::shared_ptr<Record> wait) {
	uint64_t at = sequence++;
	s.pending.push_back({at, std::move(run), std::move(wait)});
	return config().late ? int(Success) : runUntil(s, at);
}

// runUntil runs what is on the stream up to that number, and first what has to be done
// before. That always has smaller numbers, so this ends.
int Device::runUntil(Stream &s, uint64_t until) {
	while (!s.pending.empty() && s.pending.front().sequence <= until) {
		uint64_t at = s.pending.front().sequence;
		if (&s == &legacy) {
			for (auto other : streams)
				if (other->blocking) runUntil(*other, at - 1);
		} else if (s.blocking) {
			runUntil(legacy, at - 1);
		}
		auto wait = s.pending.front().wait;
		if (wait && !wait->passed) runUntil(*wait->stream, wait->sequence);
		auto run = std::move(s.pending.front().run);
		s.pending.pop_front();
		if (fault == Success) fault = run();
	}
	return fault;
}

int Device::drainAll() {
	for (auto it = streams.rbegin(); it != streams.rend(); ++it) drain(**it);
	return drain(legacy);
}

int Device::runKernel(const Function &f, Grid grid) {
	if (int code = checkArguments(f, grid)) return code;
	grid.run = f.kernel->run;
	auto why = blocks.run(grid, [&] {
		for (auto &[name, global] : f.module->globals)
			memcpy(global.variable->address(), reinterpret_cast<void *>(global.place), global.variable->size);
	});
	if (why) {
		complain("%s: %s", f.kernel->name, why);
		return LaunchFailed;
	}
	return checkRedzones(f.kernel->name);
}

// checkArguments finds pointers into memory that the device does not have, or no more.
int Device::checkArguments(const Function &f, const Grid &grid) const {
	auto &parameters = f.kernel->parameters;
	for (size_t i = 0; i < parameters.size(); i++) {
		if (!parameters[i].pointer) continue;
		uintptr_t p;
		memcpy(&p, grid.arguments[i], sizeof p);
		if (p == 0 || contains(p, 0) || pinned.holds(p, 0)) continue;
		complain("%s: argument %zu points to %#zx, which is no memory of device %d", f.kernel->name, i, size_t(p), ordinal);
		return IllegalAddress;
	}
	return Success;
}

int Device::checkRedzones(const char *after) const {
	for (auto &[p, a] : memory) {
		auto start = reinterpret_cast<const char *>(p);
		if (guarded(start - margin()) && guarded(start + a.size)) continue;
		complain("%s: wrote beyond an allocation of %zu bytes", after, a.size);
		return IllegalAddress;
	}
	return Success;
}

void Device::clear() {
	size_t count = 0, bytes = 0;
	for (auto &[p, a] : memory) {
		if (a.counted) {
			count++;
			bytes += a.size;
		}
		free(a.block);
	}
	size_t host = pinned.releaseAll(this);
	if (number("FAKECUDA_LEAKS", 0) && count + host + streams.size() + events.size() + modules.size() > 0)
		complain("device %d: not given back: %zu allocations of %zu bytes in all, %zu of pinned memory, %zu streams, %zu events, %zu modules",
			ordinal, count, bytes, host, streams.size(), events.size(), modules.size());
	for (auto s : streams) delete s;
	for (auto e : events) delete e;
	for (auto m : modules) delete m;
	streams.clear();
	events.clear();
	modules.clear();
	memory.clear();
	legacy.pending.clear();
	used = 0;
	fault = Success;
}

Pinned &pinned = *new Pinned; // lives longer than every device

int Pinned::allocate(size_t size, Device *owner, void **out) {
	if (size == 0) return InvalidValue;
	if (posix_memalign(out, alignment, size) != 0) return OutOfMemory;
	poison(*out, size);
	std::lock_guard<std::mutex> hold(lock);
	pieces[reinterpret_cast<uintptr_t>(*out)] = {size, owner, false};
	return Success;
}

int Pinned::adopt(void *p, size_t size, Device *owner) {
	if (!p || size == 0) return InvalidValue;
	std::lock_guard<std::mutex> hold(lock);
	bool added = pieces.insert({reinterpret_cast<uintptr_t>(p), {size, owner, true}}).second;
	return added ? Success : InvalidValue;
}

int Pinned::release(void *p, bool registered) {
	std::lock_guard<std::mutex> hold(lock);
	auto it = pieces.find(reinterpret_cast<uintptr_t>(p));
	if (it == pieces.end() || it->second.registered != registered) {
		explain("there is no pinned memory at %p", p);
		return InvalidValue;
	}
	if (!registered) {
		poison(p, it->second.size);
		free(p);
	}
	pieces.erase(it);
	return Success;
}

bool Pinned::holds(uintptr_t p, size_t size) const {
	std::lock_guard<std::mutex> hold(lock);
	auto it = holder(pieces, p);
	return it != pieces.end() && within(p, size, it->first, it->second.size);
}

bool Pinned::touches(uintptr_t p) const {
	std::lock_guard<std::mutex> hold(lock);
	auto it = holder(pieces, p);
	return it != pieces.end() && p - it->first < it->second.size;
}

size_t Pinned::releaseAll(const Device *owner) {
	std::lock_guard<std::mutex> hold(lock);
	size_t count = 0;
	for (auto it = pieces.begin(); it != pieces.end();) {
		if (it->second.owner != owner) {
			++it;
			continue;
		}
		count++;
		if (!it->second.registered) free(reinterpret_cast<void *>(it->first));
		it = pieces.erase(it);
	}
	return count;
}

} // namespace fakecuda

#include "block.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <link.h>

#include "fiber.h"

__thread Fakecuda_dim threadIdx, blockIdx, blockDim, gridDim;

namespace fakecuda {

namespace {

// What the thread of the host runs now.
__thread const Grid *grid;
__thread Fiber *current;
__thread void *dynamicShared;

void runThread() { grid->run(grid->arguments); }

// poisonSegment poisons the thread's own variables of this library: all of them are the
// shared memory and the constants of kernels, and what Blocks sets before it is read.
int poisonSegment(dl_phdr_info *info, size_t, void *) {
	auto inside = reinterpret_cast<char *>(&poison);
	bool ours = false;
	size_t size = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const auto &segment = info->dlpi_phdr[i];
		char *start = reinterpret_cast<char *>(info->dlpi_addr + segment.p_vaddr);
		if (segment.p_type == PT_LOAD && inside >= start && inside < start + segment.p_memsz) ours = true;
		if (segment.p_type == PT_TLS) size = segment.p_memsz;
	}
	if (!ours) return 0;
	if (info->dlpi_tls_data) poison(info->dlpi_tls_data, size);
	return 1;
}

Fakecuda_dim position(size_t i, Fakecuda_dim of) {
	return {unsigned(i % of.x), unsigned(i / of.x % of.y), unsigned(i / of.x / of.y)};
}

size_t count(Fakecuda_dim d) { return size_t(d.x) * d.y * d.z; }

// Shared is the dynamic shared memory of a grid.
class Shared {
public:
	explicit Shared(size_t size) : size(size), memory(nullptr) {
		if (posix_memalign(&memory, 256, size + margin()) != 0) abort();
		guard(end());
	}
	~Shared() { free(memory); }
	void *start() const { return memory; }
	void clear() { poison(memory, size); }
	bool intact() const { return guarded(end()); }

private:
	char *end() const { return static_cast<char *>(memory) + size; }
	size_t size;
	void *memory;
};

} // namespace

void poison(void *memory, size_t size) {
	static const auto pattern = [] {
		std::array<unsigned char, 4096> p;
		for (size_t i = 0; i < p.size(); i++) p[i] = i & 1 ? 0x7f : 0xa5;
		return p;
	}();
	auto bytes = static_cast<unsigned char *>(memory);
	for (size_t i = 0; i < size; i += pattern.size()) memcpy(bytes + i, pattern.data(), std::min(pattern.size(), size - i));
}

size_t margin() { return sanitized() ? 0 : 256; }

void guard(void *memory) { memset(memory, 0xbd, margin()); }

bool guarded(const void *memory) {
	auto bytes = static_cast<const unsigned char *>(memory);
	return std::all_of(bytes, bytes + margin(), [](unsigned char b) { return b == 0xbd; });
}

Blocks::Blocks() = default;
Blocks::~Blocks() = default;

void Blocks::poisonShared() {
	threadIdx = {}; // so that this thread has the segment
	dl_iterate_phdr(poisonSegment, nullptr);
}

const char *Blocks::runAll(const Grid &g) {
	Shared shared(g.shared);
	grid = &g;
	gridDim = g.blocks;
	blockDim = g.threads;
	dynamicShared = shared.start();
	for (size_t i = 0; i < count(g.blocks); i++) {
		shared.clear();
		blockIdx = position(i, g.blocks);
		// A missing barrier shows in one order or in the other.
		if (auto why = runBlock(i & 1)) return why;
		if (!shared.intact()) return "a kernel wrote beyond its dynamic shared memory";
	}
	return nullptr;
}

// runBlock runs each thread up to its next barrier, in turn, until all have ended. A
// thread that has ended leaves its stack to the next, so without barriers one will do.
const char *Blocks::runBlock(bool backwards) {
	size_t n = count(grid->threads), left = n;
	threads.resize(n);
	for (bool first = true; left > 0; first = false) {
		for (size_t i = 0; i < n; i++) {
			size_t t = backwards ? n - 1 - i : i;
			auto &fiber = threads[t];
			if (first && !idle.empty()) {
				fiber = std::move(idle.back());
				idle.pop_back();
			} else if (first) {
				fiber = std::make_unique<Fiber>();
			}
			threadIdx = position(t, grid->threads);
			current = fiber.get();
			first ? fiber->start(runThread) : fiber->resume();
			if (!fiber->finished()) continue;
			idle.push_back(std::move(fiber));
			left--;
		}
		if (left > 0 && left < n) {
			for (auto &fiber : threads)
				if (fiber) idle.push_back(std::move(fiber));
			return "some threads of a block ended while others wait at __syncthreads";
		}
	}
	return nullptr;
}

void waitAtBarrier() { current->leave(); }

} // namespace fakecuda

void __syncthreads() { fakecuda::waitAtBarrier(); }

void *fakecuda_dynamic_shared() { return fakecuda::dynamicShared; }

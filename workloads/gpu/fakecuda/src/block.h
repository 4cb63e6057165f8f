// Blocks of CUDA threads on a thread of the host.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "../host.h"

namespace fakecuda {

// Memory that nobody has written reads as NaN in every type of float, and as an index
// far beyond everything.
void poison(void *memory, size_t size);

// margin is how many bytes around memory are guarded: a kernel may not write them. It is
// 0 where AddressSanitizer watches the ends of memory, to the byte.
size_t margin();
void guard(void *memory);
bool guarded(const void *memory);

class Fiber;

// Grid is one launch.
struct Grid {
	Fakecuda_dim blocks, threads;
	size_t shared; // dynamic, in bytes
	void (*run)(void *const *arguments);
	void *const *arguments;
};

// Blocks runs grids. It keeps the stacks of its threads from one grid to the next.
class Blocks {
public:
	Blocks();
	~Blocks();
	// run answers why the grid failed, or an empty text. prepare sets the constants.
	template <typename Prepare> const char *run(const Grid &grid, Prepare prepare) {
		poisonShared();
		prepare();
		return runAll(grid);
	}

private:
	static void poisonShared();
	const char *runAll(const Grid &grid);
	const char *runBlock(bool backwards);
	std::vector<std::unique_ptr<Fiber>> idle;
	std::vector<std::unique_ptr<Fiber>> threads;
};

} // namespace fakecuda

// What the kernels of this package share: who computes which part of C.
#pragma once

#include "compat.h"

namespace gemm {

// Tile is the place of a block's part of C, counted in tiles.
struct Tile {
	int row, column;
};

// Blocks of near numbers run at the same time. They go down 16 rows of tiles before they
// go to the next column, so that what runs together is about as high as wide, and most
// of what it reads of A and B it finds in the L2 cache.
constexpr int groupRows = 16;

__device__ __forceinline__ Tile tile_of(int block, int rows, int columns) {
	int group = block / (groupRows * columns);
	int first = group * groupRows;
	int height = min(rows - first, groupRows);
	int within = block - group * groupRows * columns;
	return {first + within % height, within / height};
}

// tiles is how many tiles of that size cover an extent.
__device__ __forceinline__ int tiles(int extent, int size) { return (extent - 1) / size + 1; }

// keep_reads lets no read go past it. A read for the next step that stands at the end of
// a loop would else be made at its beginning, just before it is needed.
__device__ __forceinline__ void keep_reads() { asm volatile("" ::: "memory"); }

} // namespace gemm

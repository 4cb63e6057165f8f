package pixels

import "github.com/batchctl/batchctl/workloads/gpu"

// Threads of a block of pixels_table, and of the two others. A table of 256 words for
// each lane of a warp takes 32 KiB.
const (
	tableThreads = 512
	lineThreads  = 256
	tableShared  = 256 * 32 * 4
)

// tableBlocks and lineBlocks are how many blocks there are for each multiprocessor. Registers let
// it hold two of pixels_table at once, and five of the others. Eight instead of five cost
// pixels_linear 5 % on an H200, and four of pixels_table are as good as two.
const tableBlocks, lineBlocks = 4, 5

// Table replaces every sample by its entry: brightness.
func (k *Kernels) Table(q *gpu.Queue, dst, src Batch, table *[256]byte) error {
	if err := checkShapes("table", dst, src, src); err != nil {
		return err
	}
	entries, ok := k.tables[*table]
	if !ok {
		var err error
		if entries, err = k.upload(q, table[:]); err != nil {
			return err
		}
		k.tables[*table] = entries
	}
	n := src.samples()
	return k.launch(q, "pixels_table", k.line(n/16, tableThreads, tableBlocks), gpu.Dim{tableThreads, 1, 1},
		tableShared, dst.Pointer, src.Pointer, n, entries.Pointer)
}

// Linear gives the float32 sample*factor + offset, rounded once: normalise.
func (k *Kernels) Linear(q *gpu.Queue, dst gpu.Pointer, src Batch, factor, offset float32) error {
	out := src
	out.Pointer = dst
	if err := checkShapes("linear", out, src, src); err != nil {
		return err
	}
	n := src.samples()
	return k.launch(q, "pixels_linear", k.line(n/4, lineThreads, lineBlocks), gpu.Dim{lineThreads, 1, 1}, 0, dst,
		src.Pointer, n, factor, offset)
}

// line is the grid for so many vectors: that many blocks for each multiprocessor, or so much less
// that threads still have the four that they load at a time.
func (k *Kernels) line(vectors int64, threads, blocks int) gpu.Dim {
	whole := int64(k.card.Info.Multiprocessors * blocks)
	return gpu.Dim{uint32(max(1, min(whole, vectors/int64(4*threads)))), 1, 1}
}

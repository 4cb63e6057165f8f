package pixels

import (
	"errors"
	"fmt"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// copySeconds is how long a measured run of copies takes at least, and mostCopies how
// many there are in one at most.
const copySeconds, mostCopies = 0.02, 1 << 12

// CopyBandwidth measures how fast the card reads and writes its own memory, as bytes read
// plus bytes written per second, by copies of that size between the two places. It is the
// faster of the driver's copy and a kernel's.
func (k *Kernels) CopyBandwidth(q *gpu.Queue, dst, src gpu.Pointer, size int64) (float64, error) {
	if dst == 0 || src == 0 || size < 1 {
		return 0, fmt.Errorf("measure the copy bandwidth: cannot copy %d bytes from %#x to %#x", size, src, dst)
	}
	byDriver := func() error { return q.CopyOver(dst, src, size) }
	byKernel := func() error {
		return k.launch(q, "pixels_copy", k.line(size/16, lineThreads, lineBlocks), gpu.Dim{lineThreads, 1, 1}, 0, dst,
			src, size)
	}
	best := 0.0
	for _, way := range []func() error{byDriver, byKernel} {
		seconds, err := k.Repeated(q, way)
		if err != nil {
			return 0, fmt.Errorf("measure the copy bandwidth: %w", err)
		}
		best = max(best, 2*float64(size)/seconds)
	}
	return best, nil
}

// Repeated is the time in seconds that one f takes of many which the queue runs one behind the
// other, so that no start of a kernel is in it. It repeats f until that can be measured. The first
// run of one warms up.
func (k *Kernels) Repeated(q *gpu.Queue, f func() error) (each float64, err error) {
	start, err := k.card.NewMark()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, start.Close()) }()
	end, err := k.card.NewMark()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end.Close()) }()
	for n := 1; ; n *= 4 {
		if err := q.Record(start); err != nil {
			return 0, err
		}
		for range n {
			if err := f(); err != nil {
				return 0, err
			}
		}
		if err := errors.Join(q.Record(end), q.Synchronize()); err != nil {
			return 0, err
		}
		all, err := end.Since(start)
		if err != nil || n > 1 && (all >= copySeconds || n >= mostCopies) {
			return all / float64(n), err
		}
	}
}

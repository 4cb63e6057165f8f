package image

import (
	"context"
	"time"
	"unsafe"

	"github.com/batchctl/batchctl/workloads/measure"
)

// copyWays is the number of ways to copy: with stores into the caches and, if this package has
// kernels for the processor, with stores past them. The faster one depends on the machine and
// on how much fits its caches.
const copyWays = 2

// leastCopied is the smallest copy, in bytes, that measures memory; a smaller one measures how
// fast goroutines start.
const leastCopied = 1 << 20

// copyBandwidth names the limit of memory, of the host or of a GPU.
const copyBandwidth = "copy bandwidth"

// copying measures the ceiling of an operation that only reads its input and writes its output
// once. Before each run, the same number of goroutines copies the same number of bytes, half of
// them read and half of them written. The copies use the operation's own buffers, so they need no
// more memory and find the same data in the caches.
type copying struct {
	threads, warmup int
	dst, src        []Image
	runs            int
	seconds         [copyWays][]float64
}

func (c *copying) bytes() int64 { return sizeOf(c.src) + sizeOf(c.dst) }

// sizeOf is the size of all images in bytes, padding included.
func sizeOf(images []Image) int64 {
	var all int64
	for _, m := range images {
		all += int64(len(m.Pix))
	}
	return all
}

// run copies once in each way and overwrites dst. Runs of the warm-up are not counted.
func (c *copying) run(ctx context.Context) {
	c.runs++
	if c.bytes() < leastCopied {
		return
	}
	sets := instructionSets()
	for way := range c.seconds {
		if way > 0 && len(sets) == 0 {
			continue
		}
		move := func(dst, src []byte) { copy(dst, src) }
		if len(sets) > 0 {
			move = func(dst, src []byte) { sets[0].move(dst, src, way == 1) }
		}
		start := time.Now()
		if c.once(ctx, move) != nil {
			return // the operation will say that it was stopped
		}
		if elapsed := time.Since(start); c.runs > c.warmup {
			c.seconds[way] = append(c.seconds[way], max(elapsed, time.Nanosecond).Seconds())
		}
	}
}

// once copies half of bytes() from the inputs, repeated as needed, to the outputs. If that is
// more than the outputs' size, it writes them more than once, but never a byte on two
// goroutines at the same time.
func (c *copying) once(ctx context.Context, move func(dst, src []byte)) error {
	all, capacity := c.bytes()/2, sizeOf(c.dst)
	for done := int64(0); done < all; done += capacity {
		err := measure.Parallel(ctx, c.threads, int(min(capacity, all-done)), 1<<20, func(low, high int) {
			for low < high {
				dst, src := at(c.dst, low), at(c.src, int(done)+low)
				n := min(len(dst), len(src), high-low)
				move(dst[:n], src[:n])
				low += n
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// at returns the bytes from i on to the end of an image. i counts through images of one shape,
// and starts again at the first after the last.
func at(images []Image, i int) []byte {
	size := len(images[0].Pix)
	return images[i/size%len(images)].Pix[i%size:]
}

// move copies src to dst, which has the same length, with the kernel for the aligned middle.
func (v *simd) move(dst, src []byte, stream bool) {
	step := 4 * v.bytes
	head := min((v.bytes-int(uintptr(unsafe.Pointer(&dst[0]))%uintptr(v.bytes)))%v.bytes, len(dst))
	copy(dst[:head], src[:head])
	dst, src = dst[head:], src[head:]
	if whole := len(dst) - len(dst)%step; whole > 0 {
		kernel := v.copy
		if stream {
			kernel = v.copyStream
		}
		kernel(&dst[0], &src[0], whole)
		dst, src = dst[whole:], src[whole:]
	}
	copy(dst, src)
}

// ceiling compares the row, which took that many seconds, with the faster way to copy. It is
// false if the copies were too small to measure.
func (w *row) ceiling(seconds float64) (measure.Ceiling, bool) {
	best := 0.0
	for _, all := range w.copied {
		if len(all) == 0 || len(all) != len(w.times.Seconds) {
			continue
		}
		if median := measure.Median(all); best == 0 || median < best {
			best = median
		}
	}
	if best == 0 {
		return measure.Ceiling{}, false
	}
	giga := float64(w.bytes) / 1e9
	return measure.NewCeiling(copyBandwidth, giga/best, "GB/s", giga/seconds), true
}

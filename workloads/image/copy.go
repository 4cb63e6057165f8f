package image

import (
	"context"
	"time"
	"unsafe"

	"github.com/batchctl/batchctl/workloads/measure"
)

// copyWays is the number of ways to copy: with stores into the caches and, where
// the processor has an instruction set of ours, past them. Which one is faster
// depends on the machine and on how much fits its caches.
const copyWays = 2

// leastCopied is the size from which on a copy says something about memory; a
// smaller one measures how fast goroutines start.
const leastCopied = 1 << 20

// copyBandwidth names the limit of memory, of the host or of a GPU.
const copyBandwidth = "copy bandwidth"

// copying is the ceiling of an operation that does nothing but read its input
// and write its output once: as many bytes copied by the same number of
// goroutines, half of them read and half of them written, between the very
// buffers of the operation, before each of its runs. So it takes no more
// memory, and finds as much of it in the caches.
type copying struct {
	threads, warmup int
	dst, src        []Image
	runs            int
	seconds         [copyWays][]float64
}

func (c *copying) bytes() int64 { return sizeOf(c.src) + sizeOf(c.dst) }

func sizeOf(images []Image) int64 {
	var all int64
	for _, m := range images {
		all += int64(len(m.Pix))
	}
	return all
}

// run copies once in either way. What it leaves in dst is of no use.
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

// once copies from the inputs, which follow each other again and again. Where
// that is more than the outputs hold, it writes those more than once, but never
// a byte on two goroutines.
func (c *copying) once(ctx context.Context, move func(dst, src []byte)) error {
	all, room := c.bytes()/2, sizeOf(c.dst)
	for done := int64(0); done < all; done += room {
		err := measure.Parallel(ctx, c.threads, int(min(room, all-done)), 1<<20, func(low, high int) {
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

// at is what follows byte i in images of one shape, up to the end of an image.
func at(images []Image, i int) []byte {
	size := len(images[0].Pix)
	return images[i/size%len(images)].Pix[i%size:]
}

// move copies src, whose length is that of dst, with the kernel where it can.
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

// ceiling compares the row, which took that many seconds, with the faster way
// to copy. It is false when nothing was copied.
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

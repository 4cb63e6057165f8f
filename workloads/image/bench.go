package image

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/batchctl/batchctl/workloads/measure"
)

// row is one operation over images of one or more shapes, as it is measured.
type row struct {
	op     Operation
	kernel Kernel
	// shape is that of all inputs so far; mixed when they differ.
	shape   Shape
	mixed   bool
	images  int
	pixels  int64
	seconds []float64
	sum     uint32
	// bytes are those of all inputs and outputs; copied is how long copies of
	// as many took, for each way to copy and each repeat.
	bytes  int64
	copied [copyWays][]float64
}

// runner is what every measurement needs.
type runner struct {
	params  Params
	options measure.Options
}

// operate runs the row's operation on images of one shape, checks every output
// of every run, adds the times to the row, and returns the outputs.
func (r runner) operate(ctx context.Context, w *row, src []Image) ([]Image, error) {
	runtime.GC() // else the outputs of the row before could still take memory
	from := src[0].Shape
	to := w.op.output(r.params, from)
	dst := make([]Image, len(src))
	expected := make([][]sample, len(src))
	err := measure.Parallel(ctx, r.options.Threads, len(src), 1, func(i, _ int) {
		dst[i] = New(to)
		expected[i] = w.op.samples(r.params, to, src[i], rand.New(rand.NewPCG(r.options.Seed, uint64(i))))
	})
	if err != nil {
		return nil, err
	}
	compute := w.kernel.prepare(r.params, to, from)
	check := checker{params: r.params, op: w.op, before: w.sum, expected: expected}
	copies := copying{ctx: ctx, threads: r.options.Threads, warmup: r.options.Warmup, dst: dst, src: src}
	seconds, err := measure.Repeat(ctx, r.options, measure.Task{
		Spoil: func() { copies.run(); spoil(dst) },
		Work:  func(ctx context.Context) error { return apply(ctx, r.options.Threads, compute, dst, src) },
		Check: func(context.Context) error { return check.run(dst) },
	})
	if err != nil {
		return nil, err
	}
	w.add(from, len(src), seconds, check.sum)
	w.addCopies(copies)
	return dst, nil
}

// checker holds every run of one operation against the samples, and against
// the checksum of the run before.
type checker struct {
	params      Params
	op          Operation
	expected    [][]sample
	before, sum uint32
	ran         bool
}

func (c *checker) run(dst []Image) error {
	for i, m := range dst {
		if err := c.op.check(c.params, m, c.expected[i]); err != nil {
			return err
		}
	}
	sum := checksum(c.before, dst)
	if c.ran && sum != c.sum {
		return fmt.Errorf("verify %s: two runs on the same input gave different pixels", c.op.Name)
	}
	c.sum, c.ran = sum, true
	return nil
}

// spoil writes a pattern that no run may leave behind.
func spoil(images []Image) {
	for _, m := range images {
		for y := range m.H {
			line := m.Row(y)
			for i := range line {
				line[i] = byte(0x5A + i + y)
			}
		}
	}
}

func (w *row) add(s Shape, images int, seconds []float64, sum uint32) {
	w.mixed = w.mixed || (w.images > 0 && w.shape != s)
	w.shape = s
	w.images += images
	w.pixels += int64(images) * int64(s.W) * int64(s.H)
	addTo(&w.seconds, seconds)
	w.sum = sum
}

func (w *row) addCopies(c copying) {
	w.bytes += c.bytes()
	for way, seconds := range c.seconds {
		addTo(&w.copied[way], seconds)
	}
}

// addTo adds the repeats of one more image to those of a row.
func addTo(sums *[]float64, seconds []float64) {
	if *sums == nil {
		*sums = make([]float64, len(seconds))
	}
	for i, v := range seconds {
		(*sums)[i] += v
	}
}

// result is the row as it is printed.
func (w *row) result(p Params) measure.Result {
	r := measure.Result{
		Workload: "image", Operation: w.op.Name, Title: w.op.Title, Size: "mixed sizes", Batch: w.images,
		Type: w.op.element(p), Parameters: w.op.parameters(p), Kernel: w.kernel.Name,
		Checksum: fmt.Sprintf("crc32c:%08x", w.sum), Verified: true,
	}
	if !w.mixed {
		r.Size, r.Width, r.Height = w.shape.String(), w.shape.W, w.shape.H
	}
	r.SetTimes(w.seconds)
	r.MPixels = float64(w.pixels) / r.Median / 1e6
	if c, ok := w.ceiling(r.Median); ok {
		r.Ceilings = append(r.Ceilings, c)
	}
	return r
}

// newRow picks the kernel of that name, or the operation's first when it has none.
func newRow(op Operation, kernel string) *row {
	i := slices.IndexFunc(op.kernels, func(k Kernel) bool { return k.Name == kernel })
	return &row{op: op, kernel: op.kernels[max(i, 0)]}
}

package image

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/batchctl/batchctl/workloads/measure"
)

// row is one line of the results: one operation over images of one or more shapes, with its times.
type row struct {
	op     Operation
	kernel Kernel
	// shape is that of all inputs so far; mixed is set when they differ.
	shape  Shape
	mixed  bool
	images int
	pixels int64
	// bytes is the size of all inputs and outputs, written the size of the outputs alone.
	bytes, written int64
	times          measure.Times
	sum            uint32
	// copied is how long CPU copies of the same number of bytes took, in seconds, for each way to
	// copy and each repeat.
	copied [copyWays][]float64
	cards  cardRow
}

// runner is the configuration that every measurement shares.
type runner struct {
	params  Params
	options measure.Options
	engine  engine
}

// operate runs the row's operation on images of one shape, checks every output of every run, and
// adds the times to the row. It passes the last outputs to use, which must not keep them.
func (r runner) operate(ctx context.Context, w *row, src []Image, use func(dst []Image) error) (err error) {
	runtime.GC() // else the outputs of the row before could still take memory
	dst, release, err := r.engine.images(w.op.output(r.params, src[0].Shape), len(src))
	if err != nil {
		return err
	}
	// An error of release after another error is a consequence of the first.
	defer func() { err = cmp.Or(err, release()) }()
	check := checker{tolerance: w.op.allowed(w.kernel, r.params), op: w.op, before: w.sum,
		expected: make([][]sample, len(src))}
	err = measure.Parallel(ctx, r.options.Threads, len(src), 1, func(i, _ int) {
		check.expected[i] = w.op.samples(r.params, dst[i].Shape, src[i],
			rand.New(rand.NewPCG(r.options.Seed, uint64(i))))
	})
	if err != nil {
		return err
	}
	if err := r.time(ctx, r.engine, w, &check, dst, src); err != nil {
		return err
	}
	if one := r.engine.alone(len(src)); one != nil {
		single := &row{op: w.op, kernel: w.kernel}
		if err := r.time(ctx, one, single, &check, dst, src); err != nil {
			return err
		}
		addTo(&w.cards.alone, single.times.Seconds)
	}
	return use(dst)
}

// time runs the row's operation on the engine and adds the measurements to the row.
func (r runner) time(ctx context.Context, e engine, w *row, check *checker, dst, src []Image) (err error) {
	work, err := e.prepare(w, r.params, dst, src)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, work.close()) }()
	var spoiled error
	times, err := measure.Repeat(ctx, r.options, measure.Task{
		Spoil: func() { spoiled = work.before(ctx); spoil(dst) },
		Work: func(ctx context.Context) error {
			if spoiled != nil {
				return spoiled
			}
			return work.run(ctx)
		},
		Check: func(ctx context.Context) error {
			if err := check.run(dst); err != nil {
				return err
			}
			return work.after(ctx)
		},
	})
	if err != nil {
		return err
	}
	w.add(src, dst, times, check.sum)
	work.report(w, len(times.Seconds))
	return nil
}

// checker compares every run of one operation with the samples, and with the checksum of the run
// before.
type checker struct {
	op          Operation
	tolerance   float64
	expected    [][]sample
	before, sum uint32
	ran         bool
}

// run checks the outputs of one run. It is an error if their pixels differ from those of an earlier
// run.
func (c *checker) run(dst []Image) error {
	for i, m := range dst {
		if err := c.op.check(c.tolerance, m, c.expected[i]); err != nil {
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

// spoil overwrites the outputs before a run, so that the check finds every pixel that the run
// does not write.
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

// add adds the times and the checksum of images of one shape to the row.
func (w *row) add(src, dst []Image, times measure.Times, sum uint32) {
	s := src[0].Shape
	w.mixed = w.mixed || (w.images > 0 && w.shape != s)
	w.shape = s
	w.images += len(src)
	w.pixels += int64(len(src)) * int64(s.W) * int64(s.H)
	w.bytes += sizeOf(src) + sizeOf(dst)
	w.written += sizeOf(dst)
	w.times.First += times.First
	addTo(&w.times.Seconds, times.Seconds)
	w.sum = sum
}

// addTo adds the seconds of each repeat to the sums of the row, which are nil at first.
func addTo(sums *[]float64, seconds []float64) {
	if *sums == nil {
		*sums = make([]float64, len(seconds))
	}
	for i, v := range seconds {
		(*sums)[i] += v
	}
}

// result turns the row into the result that is printed.
func (w *row) result(p Params) measure.Result {
	r := measure.Result{
		Workload: "image", Operation: w.op.Name, Title: w.op.Title, Size: "mixed sizes", Batch: w.images,
		Type: w.op.element(p), Parameters: w.op.parameters(p), Kernel: w.kernel.label(),
		// With tolerance 0 every correct output has the same pixels.
		Exact:    w.op.allowed(w.kernel, p) == 0,
		Checksum: fmt.Sprintf("crc32c:%08x", w.sum), Verified: true,
	}
	if !w.mixed {
		r.Size, r.Width, r.Height = w.shape.String(), w.shape.W, w.shape.H
	}
	w.times.Splits = w.cards.splits()
	r.SetTimes(w.times)
	r.MPixels = float64(w.pixels) / r.Median / 1e6
	if c, ok := w.ceiling(r.Median); ok {
		r.Ceilings = append(r.Ceilings, c)
	}
	operations := 0.0
	if w.op.work != nil {
		operations = w.op.work(p) * 3 * float64(w.pixels) // as many samples as the input has
	}
	w.cards.complete(&r, w.bytes, operations)
	for i, c := range r.Ceilings {
		r.Ceilings[i].Exceedable = c.Name == copyBandwidth && !w.copies()
	}
	return r
}

// copies reports whether the operation reads as many bytes as it writes, as the copies do
// that it is compared with. Memory and caches serve reads and writes at different rates,
// so only then is the bandwidth of a copy a limit: halving an image reads four bytes for
// each that it writes, and can correctly be faster.
func (w *row) copies() bool { return 2*w.written == w.bytes }

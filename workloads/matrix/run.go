package matrix

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sort"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// product describes one row of the output.
type product struct {
	kind gpu.Precision
	size int
}

func (p product) String() string { return fmt.Sprintf("%dx%d %s", p.size, p.size, p.kind) }

// operations is the additions and multiplications of the product.
func (p product) operations() float64 { return 2 * math.Pow(float64(p.size), 3) }

// checkMemory rejects sizes that do not fit the memory, before any work. bytes returns the memory of
// a product.
func checkMemory(products []product, memory measure.Memory, bytes func(product) int64) error {
	for _, p := range products {
		fits := func(size int) bool { return bytes(product{p.kind, size}) <= memory.Bytes }
		if err := memory.Check(p.String()+" multiplication", bytes(p),
			fitting(p.size, fits, "give the job more memory")); err != nil {
			return err
		}
	}
	return nil
}

// fitting is the advice for a size that does not fit: the largest multiple of 100 below it that
// fits, or otherwise if none does.
func fitting(size int, fits func(int) bool, otherwise string) string {
	hundreds := sort.Search(size/100, func(i int) bool { return !fits(100 * (i + 1)) })
	if hundreds == 0 {
		return otherwise
	}
	return fmt.Sprintf("choose --sizes of at most %d", 100*hundreds)
}

// engine computes the product of one row: the processor, or GPUs.
type engine[T Float] interface {
	// prepare generates A and B from the seed and allocates C, in the engine's memory.
	prepare(ctx context.Context) error
	// spoil fills C with NaN, in every memory where the engine writes it.
	spoil(ctx context.Context) error
	// run computes C. It may return early when the context ends.
	run(ctx context.Context) error
	// splits returns the function that divides the last run's time; nil on the CPU, which copies nothing.
	splits() func() measure.Split
	// peak measures the peak of the arithmetic. It is called often, because the clock drifts.
	peak() error
	// operands returns C of the last run, and A and B.
	operands() (c, a, b Matrix[T])
	// report adds the kernel, the ceilings and the devices to a row that has its times.
	report(r *measure.Result)
	close() error
}

// multiplyAndTime measures one row and closes the engine.
func multiplyAndTime[T Float](ctx context.Context, o measure.Options, p product,
	e engine[T]) (r measure.Result, err error) {
	runtime.GC() // else the matrices of the row before could still take memory
	defer func() {
		closeAfter(ctx, e.close, &err)
		if err != nil {
			r, err = measure.Result{}, fmt.Errorf("multiply %s: %w", p, err)
		}
	}()
	if err := e.prepare(ctx); err != nil {
		return r, err
	}
	times, err := orLeave(ctx, func() (measure.Times, error) { return repeat(ctx, o, p, e) })
	if err != nil {
		return r, err
	}
	c, _, _ := e.operands()
	r = measure.Result{
		Workload: "matrix", Operation: "multiplication", Title: "Matrix multiplication",
		Size: fmt.Sprintf("%dx%d", p.size, p.size), Width: p.size, Height: p.size, Type: string(p.kind),
		Checksum: checksum(c), Verified: true, Versions: measure.BuildVersions(),
	}
	r.SetTimes(times)
	r.GFLOPS = p.operations() / r.Median / 1e9
	e.report(&r)
	return r, nil
}

// closeAfter calls close and keeps the first error. A stopped engine may still run, so it is not
// closed: the program is about to end.
func closeAfter(ctx context.Context, close func() error, err *error) {
	if ctx.Err() != nil {
		return
	}
	if closed := close(); *err == nil {
		*err = closed
	}
}

// repeat runs the engine. Before each run C is NaN; after it C is checked.
func repeat[T Float](ctx context.Context, o measure.Options, p product, e engine[T]) (measure.Times, error) {
	var spoiled error
	var allowed *limits
	return measure.Repeat(ctx, o, measure.Task{
		Spoil: func() {
			if spoiled = e.spoil(ctx); spoiled == nil {
				spoiled = e.peak()
			}
		},
		Work: func(ctx context.Context) error {
			if spoiled != nil {
				return spoiled
			}
			return e.run(ctx)
		},
		Check: func(ctx context.Context) error {
			if err := e.peak(); err != nil {
				return err
			}
			c, a, b := e.operands()
			if allowed == nil {
				l := limitsOf(p.kind, a, b)
				allowed = &l
			}
			return verify(ctx, c, a, b, *allowed, o.Seed+1, o.Threads)
		},
		Split: e.splits(),
	})
}

// fillOperands generates A and B from the seed.
func fillOperands[T Float](ctx context.Context, o measure.Options, a, b Matrix[T]) error {
	if err := fill(ctx, a, o.Seed, 1, o.Threads); err != nil {
		return err
	}
	return fill(ctx, b, o.Seed, 2, o.Threads)
}

// orLeave runs f and returns early when the context ends. AWS Batch kills a job 30 seconds after it
// asks it to stop, and one large product may take longer. f continues to run, because the program
// is about to end.
func orLeave(ctx context.Context, f func() (measure.Times, error)) (measure.Times, error) {
	type result struct {
		times measure.Times
		err   error
	}
	done := make(chan result, 1)
	go func() {
		times, err := f()
		done <- result{times, err}
	}()
	select {
	case r := <-done:
		return r.times, r.err
	case <-ctx.Done():
		return measure.Times{}, measure.Stopped(ctx)
	}
}

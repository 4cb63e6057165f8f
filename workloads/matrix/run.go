package matrix

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/batchctl/batchctl/workloads/blas"
	"github.com/batchctl/batchctl/workloads/measure"
)

// product describes one row of the output.
type product struct {
	kind string
	size int
}

func (p product) String() string { return fmt.Sprintf("%dx%d %s", p.size, p.size, p.kind) }

// bytes is what the three matrices take.
func (p product) bytes() int64 {
	return 3 * int64(p.size) * int64(p.size) * width(p.kind)
}

func width(kind string) int64 {
	if kind == "float32" {
		return 4
	}
	return 8
}

// checkMemory refuses sizes that do not fit before any work begins.
func checkMemory(products []product, memory measure.Memory) error {
	for _, p := range products {
		fits := int(math.Sqrt(float64(memory.Bytes) / float64(3*width(p.kind))))
		advice := fmt.Sprintf("choose --sizes of at most %d", fits/100*100)
		if fits < 100 {
			advice = "give the job more memory"
		}
		if err := memory.Check(p.String()+" multiplication", p.bytes(), advice); err != nil {
			return err
		}
	}
	return nil
}

// run measures one product with the kernel for its type.
func (c *config) run(ctx context.Context, p product, kernel Kernel) (measure.Result, error) {
	if p.kind == "float32" {
		return multiplyAndTime(ctx, c.options, p, kernel.ISA, kernel.Float32)
	}
	return multiplyAndTime(ctx, c.options, p, kernel.ISA, kernel.Float64)
}

func multiplyAndTime[T Float](ctx context.Context, o measure.Options, p product, isa blas.ISA, kernel func(c, a, b Matrix[T], threads int)) (measure.Result, error) {
	runtime.GC() // else the matrices of the row before could still take memory
	a, b, c := New[T](p.size, p.size), New[T](p.size, p.size), New[T](p.size, p.size)
	if err := fill(ctx, a, o.Seed, 1, o.Threads); err != nil {
		return measure.Result{}, err
	}
	if err := fill(ctx, b, o.Seed, 2, o.Threads); err != nil {
		return measure.Result{}, err
	}
	var peaks []float64
	peak := func() { peaks = append(peaks, blas.Peak[T](isa, o.Threads, peakTime)/1e9) }
	seconds, err := measure.Repeat(ctx, o, measure.Task{
		Spoil: func() {
			spoil(c)
			peak()
		},
		Work: func(ctx context.Context) error {
			return orLeave(ctx, func() { kernel(c, a, b, o.Threads) })
		},
		Check: func(ctx context.Context) error {
			peak()
			return verify(ctx, c, a, b, o.Seed+1, o.Threads)
		},
	})
	if err != nil {
		return measure.Result{}, fmt.Errorf("multiply %s: %w", p, err)
	}
	r := measure.Result{
		Workload: "matrix", Operation: "multiplication", Title: "Matrix multiplication",
		Size: fmt.Sprintf("%dx%d", p.size, p.size), Width: p.size, Height: p.size, Type: p.kind,
		Checksum: checksum(c), Verified: true, ISA: string(isa),
	}
	r.SetTimes(seconds)
	r.GFLOPS = 2 * math.Pow(float64(p.size), 3) / r.Median / 1e9
	r.Ceilings = []measure.Ceiling{measure.NewCeiling("FMA peak", measure.Median(peaks), "GFLOP/s", r.GFLOPS)}
	return r, nil
}

// peakTime is how long the peak is measured before and after each repeat: so
// often, because the clock drifts.
const peakTime = 20 * time.Millisecond

// orLeave runs f and returns early when the context ends. AWS Batch kills 30
// seconds after it asks to stop, and one large product may take longer; f is
// left running because the program is about to end.
func orLeave(ctx context.Context, f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return measure.Stopped(ctx)
	}
}

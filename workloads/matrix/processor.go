package matrix

import (
	"context"
	"time"

	"github.com/batchctl/batchctl/workloads/blas"
	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// processor is the engine on the local CPU.
type processor[T Float] struct {
	size    int
	options measure.Options
	kernel  func(c, a, b Matrix[T], threads int)
	title   string
	isa     blas.ISA
	a, b, c Matrix[T]
	peaks   []float64
}

func (e *processor[T]) prepare(ctx context.Context) error {
	e.a, e.b, e.c = New[T](e.size, e.size), New[T](e.size, e.size), New[T](e.size, e.size)
	return fillOperands(ctx, e.options, e.a, e.b)
}

func (e *processor[T]) spoil(ctx context.Context) error {
	return spoil(ctx, e.c, e.options.Threads)
}

func (e *processor[T]) run(context.Context) error {
	e.kernel(e.c, e.a, e.b, e.options.Threads)
	return nil
}

func (e *processor[T]) splits() func() measure.Split { return nil }

func (e *processor[T]) operands() (c, a, b Matrix[T]) { return e.c, e.a, e.b }

// peakTime is the duration of each measurement of the peak, before and after each repeat.
const peakTime = 20 * time.Millisecond

func (e *processor[T]) peak() error {
	e.peaks = append(e.peaks, blas.Peak[T](e.isa, e.options.Threads, peakTime)/1e9)
	return nil
}

func (e *processor[T]) report(r *measure.Result) {
	r.Kernel, r.ISA = e.title, string(e.isa)
	r.Ceilings = []measure.Ceiling{measure.NewCeiling("FMA peak", measure.Median(e.peaks), "GFLOP/s", r.GFLOPS)}
}

func (e *processor[T]) close() error { return nil }

// processorBytes is the memory of a product: the matrices and the goroutines' workspace. The
// kernels of other libraries take no more.
func processorBytes(p product, isa blas.ISA, threads int) int64 {
	o, n := blas.Options{ISA: isa, Threads: threads}, p.size
	packed := blas.WorkspaceBytes[float64](n, n, n, o)
	if p.kind == gpu.Float32 {
		packed = blas.WorkspaceBytes[float32](n, n, n, o)
	}
	return 3*int64(n)*int64(n)*p.kind.Bytes() + packed
}

// runProcessor measures one row on the CPU.
func (c *config) runProcessor(ctx context.Context, p product, k Kernel) (measure.Result, error) {
	if p.kind == gpu.Float32 {
		return multiplyAndTime(ctx, c.options, p, &processor[float32]{size: p.size, options: c.options,
			kernel: k.Float32, title: k.Title, isa: k.ISA})
	}
	return multiplyAndTime(ctx, c.options, p, &processor[float64]{size: p.size, options: c.options, kernel: k.Float64,
		title: k.Title, isa: k.ISA})
}

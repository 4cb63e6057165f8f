package image

import (
	"context"

	"github.com/batchctl/batchctl/workloads/measure"
)

// engine computes operations, on the processor or on GPUs.
type engine interface {
	// check is an error if the engine cannot compute the operation on images of that shape. It
	// is called before any work.
	check(op Operation, p Params, s Shape) error
	// images allocates n images of one shape, with undefined pixels, in the memory that the
	// engine reads and writes fastest. release frees them.
	images(s Shape, n int) (all []Image, release func() error, err error)
	// prepare returns a job that computes the row's operation from src to dst.
	prepare(w *row, p Params, dst, src []Image) (job, error)
	// alone is the same engine with only its first device; nil unless it has several and n
	// images give work to all of them.
	alone(n int) engine
	close() error
}

// job is one operation from images of one shape to others, ready to run any number of times.
type job interface {
	// before is called before every run and is not timed. It measures how fast the same bytes
	// are copied, and overwrites the memory that a run writes in addition to dst.
	before(ctx context.Context) error
	run(ctx context.Context) error
	// after is called after every run with a correct output, and is not timed.
	after(ctx context.Context) error
	// report adds the other measurements of the last repeats to the row.
	report(w *row, repeats int)
	close() error
}

// processor is the engine that computes on goroutines.
type processor struct{ threads, warmup int }

func (processor) check(Operation, Params, Shape) error { return nil }

func (processor) images(s Shape, n int) ([]Image, func() error, error) {
	all := make([]Image, n)
	for i := range all {
		all[i] = New(s)
	}
	return all, func() error { return nil }, nil
}

func (e processor) prepare(w *row, p Params, dst, src []Image) (job, error) {
	j := &processorJob{dst: dst, src: src, threads: e.threads}
	if whole := w.kernel.whole; whole != nil {
		j.whole = func(dst, src Image) error { return whole(p, e.threads, dst, src) }
	} else {
		j.rows = w.kernel.prepare(p, dst[0].Shape, src[0].Shape)
	}
	j.copies = copying{threads: e.threads, warmup: e.warmup, dst: dst, src: src}
	return j, nil
}

func (processor) alone(int) engine { return nil }

func (processor) close() error { return nil }

// processorJob computes by rows, or by whole images if a kernel has threads of its own.
type processorJob struct {
	dst, src []Image
	threads  int
	rows     rows
	whole    func(dst, src Image) error
	copies   copying
}

func (j *processorJob) before(ctx context.Context) error {
	j.copies.run(ctx)
	return nil
}

func (j *processorJob) run(ctx context.Context) error {
	if j.whole == nil {
		return apply(ctx, j.threads, j.rows, j.dst, j.src)
	}
	for i := range j.dst {
		if err := measure.Stopped(ctx); err != nil {
			return err
		}
		if err := j.whole(j.dst[i], j.src[i]); err != nil {
			return err
		}
	}
	return nil
}

func (*processorJob) after(context.Context) error { return nil }

func (j *processorJob) report(w *row, _ int) {
	for way, seconds := range j.copies.seconds {
		addTo(&w.copied[way], seconds)
	}
}

func (*processorJob) close() error { return nil }

package matrix

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// fleet is the engine on GPUs. Each card has its own rows of A and C, and all of B.
type fleet[T Float] struct {
	*stations
	product product
	options measure.Options
	// memory is the host's free memory before the first row.
	memory measure.Memory
	// c, a and b are the matrices that the check reads; images are the bytes that the cards copy.
	// For float32 and float64 both are the same memory.
	c, a, b   Matrix[T]
	images    [3]image
	pinned    []*gpu.HostMemory
	pipelines []pipeline
	// seconds are those of each card's last run; shares are the parts of every timed run, by card.
	seconds []float64
	shares  [][]measure.CardShare
	peaks   []float64
}

// prepare plans the cards' work, allocates the memory and generates the operands; for bfloat16 it
// rounds them.
func (e *fleet[T]) prepare(ctx context.Context) error {
	budgets, err := e.budgets()
	if err != nil {
		return err
	}
	plans, err := plansFor(e.product, budgets)
	if err != nil {
		return err
	}
	e.seconds, e.shares = make([]float64, len(plans)), make([][]measure.CardShare, len(plans))
	pinned, err := e.allocate()
	if err != nil {
		return err
	}
	if err := fillOperands(ctx, e.options, e.a, e.b); err != nil {
		return err
	}
	if e.product.kind == gpu.BFloat16 {
		for i, m := range []Matrix[T]{e.a, e.b} {
			if err := e.eachRow(ctx, m, e.images[i+1], roundRow[T]); err != nil {
				return err
			}
		}
	}
	e.pipelines = make([]pipeline, len(plans))
	return e.each(func(i int, s *station) error {
		part := part{station: s, plan: plans[i], kind: e.product.kind, c: e.images[0], a: e.images[1], b: e.images[2]}
		e.pipelines[i] = &streamed{part: part, staged: !pinned, threads: max(1, e.options.Threads/len(plans))}
		if pinned {
			if o := plans[i].order(part.kind, budgets[i]); o != nil {
				e.pipelines[i] = &resident{part: part, order: o}
			}
		}
		return e.pipelines[i].open()
	})
}

func (e *fleet[T]) spoil(context.Context) error {
	spoilBytes(e.images[0].data)
	return e.each(func(i int, _ *station) error { return e.pipelines[i].spoil() })
}

func (e *fleet[T]) run(ctx context.Context) error {
	return e.each(func(i int, _ *station) error {
		start := time.Now()
		err := e.pipelines[i].run(ctx)
		e.seconds[i] = time.Since(start).Seconds()
		return err
	})
}

func (e *fleet[T]) splits() func() measure.Split { return e.split }

// split returns the longest time of each part over the cards, and records each card's share.
func (e *fleet[T]) split() measure.Split {
	var most measure.Split
	for i, p := range e.pipelines {
		s := p.times()
		most.Kernel, most.CopyIn, most.CopyOut = max(most.Kernel, s.Kernel), max(most.CopyIn, s.CopyIn),
			max(most.CopyOut, s.CopyOut)
		e.shares[i] = append(e.shares[i], measure.CardShare{UUID: e.cards[i].Info.UUID, Seconds: e.seconds[i],
			Kernel: s.Kernel, CopyIn: s.CopyIn, CopyOut: s.CopyOut})
	}
	return most
}

func (e *fleet[T]) operands() (c, a, b Matrix[T]) {
	if e.product.kind == gpu.BFloat16 {
		// It cannot fail: a background context is never done.
		_ = e.eachRow(context.Background(), e.c, e.images[0], func(src []byte, row []T) { readRow(row, src) })
	}
	return e.c, e.a, e.b
}

func (e *fleet[T]) eachRow(ctx context.Context, m Matrix[T], as image, f func(data []byte, row []T)) error {
	return measure.Parallel(ctx, e.options.Threads, m.Rows, rowBand, func(low, high int) {
		for i := low; i < high; i++ {
			f(as.line(i, 0, m.Cols), m.Row(i))
		}
	})
}

// peak measures the peak of all cards together, in GFLOP/s.
func (e *fleet[T]) peak() error {
	rates := make([]float64, len(e.all))
	err := e.each(func(i int, s *station) (err error) {
		rates[i], err = s.kernels.Peak(s.compute, e.product.kind)
		return err
	})
	e.peaks = append(e.peaks, sum(rates)/1e9)
	return err
}

// report adds the cards' shares, and compares the kernels with the peak: without the copies, which
// the time and the rate of the row include.
func (e *fleet[T]) report(r *measure.Result) {
	r.Kernel = e.kernel(e.product.kind)
	r.FirstCall += e.takeSetup()
	if r.KernelSeconds > 0 {
		r.Ceilings = []measure.Ceiling{measure.NewCeiling(e.peakName(), measure.Median(e.peaks), "GFLOP/s",
			e.product.operations()/r.KernelSeconds/1e9)}
	}
	if len(e.all) == 1 {
		return // the row is the card's share
	}
	for _, runs := range e.shares {
		r.Cards = append(r.Cards, medianShare(runs))
	}
}

// medianShare is the median of each part over one card's runs.
func medianShare(runs []measure.CardShare) measure.CardShare {
	part := func(of func(measure.CardShare) float64) float64 {
		values := make([]float64, len(runs))
		for i, run := range runs {
			values[i] = of(run)
		}
		return measure.Median(values)
	}
	return measure.CardShare{
		UUID:    runs[0].UUID,
		Seconds: part(func(s measure.CardShare) float64 { return s.Seconds }),
		Kernel:  part(func(s measure.CardShare) float64 { return s.Kernel }),
		CopyIn:  part(func(s measure.CardShare) float64 { return s.CopyIn }),
		CopyOut: part(func(s measure.CardShare) float64 { return s.CopyOut }),
	}
}

// peakName names the units on which the peak is measured. cuBLAS uses the same ones.
func (e *fleet[T]) peakName() string {
	if e.all[0].kernels.OnTensorCores(e.product.kind) {
		return "tensor peak"
	}
	return "FMA peak"
}

func (e *fleet[T]) close() error {
	err := e.each(func(i int, _ *station) error {
		if i >= len(e.pipelines) || e.pipelines[i] == nil {
			return nil
		}
		return e.pipelines[i].close()
	})
	return errors.Join(err, e.unpin())
}

// runCards measures one row on the GPUs. If there are several, the first also computes alone, for
// the efficiency, unless the matrices do not fit its memory: in panels it would do different work,
// and take too long.
func (c *config) runCards(ctx context.Context, s *stations, p product, memory measure.Memory) (measure.Result, error) {
	r, err := c.runFleet(ctx, s, p, memory)
	if err != nil || len(s.all) == 1 {
		return r, err
	}
	budgets, err := s.budgets()
	if err != nil || 3*int64(p.size)*int64(p.size)*p.kind.Bytes() > budgets[0].bytes {
		return r, err
	}
	alone, err := c.runFleet(ctx, s.first(1), p, memory)
	if err != nil {
		return r, fmt.Errorf("measure one GPU alone, for the efficiency: %w", err)
	}
	r.Efficiency = alone.Median / (float64(len(s.all)) * r.Median)
	return r, nil
}

func (c *config) runFleet(ctx context.Context, s *stations, p product, memory measure.Memory) (measure.Result, error) {
	if p.kind == gpu.Float64 {
		return multiplyAndTime(ctx, c.options, p, &fleet[float64]{stations: s, product: p, options: c.options,
			memory: memory})
	}
	return multiplyAndTime(ctx, c.options, p, &fleet[float32]{stations: s, product: p, options: c.options,
		memory: memory})
}

package matrix

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// resident is the pipeline for a card that holds all of A, B and C, which are pinned. It copies and
// computes in the order of its plan, and copies each product out while the next is computed.
type resident struct {
	part
	order *order
	// rowsOfA is the card's memory for its rows of A, panels that for the strips of B, and products that
	// for the parts of C.
	rowsOfA          *gpu.Memory
	panels, products []*gpu.Memory
	in               *gpu.Queue
	// out are the queues of the copies out, in turn. The host waits for the last copy of a queue before
	// it queues the next product for it, so that a run can be stopped.
	out []*gpu.Queue
	// Each copy in has its marks in copied, and each product and its copy out in computed and left.
	copied, computed, left []interval
}

func (p *resident) open() (err error) {
	w, depth := p.plan.width, int64(p.plan.depth)
	if p.rowsOfA, err = p.card.Alloc(int64(p.plan.rows()) * depth * w); err != nil {
		return fmt.Errorf("memory for A: %w", err)
	}
	for _, s := range p.order.copies {
		if s.ofB {
			if err := alloc(p.card, &p.panels, depth*int64(s.size())*w); err != nil {
				return fmt.Errorf("memory for B: %w", err)
			}
		}
	}
	for _, t := range p.order.products {
		if err := alloc(p.card, &p.products, t.elements()*w); err != nil {
			return fmt.Errorf("memory for C: %w", err)
		}
	}
	if p.in, err = p.card.NewQueue(); err != nil {
		return err
	}
	for range slotCount {
		q, err := p.card.NewQueue()
		if err != nil {
			return err
		}
		p.out = append(p.out, q)
	}
	products := len(p.order.products)
	return errors.Join(openIntervals(p.card, &p.copied, len(p.order.copies)),
		openIntervals(p.card, &p.computed, products), openIntervals(p.card, &p.left, products))
}

func alloc(c *gpu.Card, all *[]*gpu.Memory, bytes int64) error {
	m, err := c.Alloc(bytes)
	if err == nil {
		*all = append(*all, m)
	}
	return err
}

// openIntervals makes n intervals; those made before an error are closed with the others.
func openIntervals(c *gpu.Card, all *[]interval, n int) error {
	for range n {
		s, err := newInterval(c)
		*all = append(*all, s)
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *resident) spoil() error {
	for _, m := range p.memories() {
		if err := p.compute.Fill(m.Pointer, spoiled, m.Bytes); err != nil {
			return err
		}
	}
	return p.compute.Synchronize()
}

func (p *resident) memories() []*gpu.Memory {
	var all []*gpu.Memory
	if p.rowsOfA != nil {
		all = append(all, p.rowsOfA)
	}
	return append(append(all, p.panels...), p.products...)
}

func (p *resident) run(ctx context.Context) error {
	p.split = measure.Split{}
	if err := p.copyIn(ctx); err != nil {
		return err
	}
	for i := range p.order.products {
		if err := measure.Stopped(ctx); err != nil {
			return err
		}
		if err := p.outOf(i).Synchronize(); err != nil {
			return err
		}
		if err := p.product(i); err != nil {
			return fmt.Errorf("multiply: %w", err)
		}
		if err := p.copyOut(i); err != nil {
			return fmt.Errorf("copy C: %w", err)
		}
	}
	if err := p.synchronize(); err != nil {
		return err
	}
	return errors.Join(addSeconds(&p.split.CopyIn, p.copied), addSeconds(&p.split.Kernel, p.computed),
		addSeconds(&p.split.CopyOut, p.left))
}

// copyIn queues all copies to the card.
func (p *resident) copyIn(ctx context.Context) error {
	panels := p.panels
	for i, s := range p.order.copies {
		if err := measure.Stopped(ctx); err != nil {
			return err
		}
		name, m, r, to := "A", p.a, rectangle{s.low, s.high, 0, p.plan.depth}, p.row(s.low)
		if s.ofB {
			name, m, r, to = "B", p.b, rectangle{0, p.plan.depth, s.low, s.high}, panels[0].Pointer
			panels = panels[1:]
		}
		if err := p.copied[i].around(p.in, func() error { return m.copyIn(p.in, to, r) }); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}

// row is the address of a row of A.
func (p *resident) row(i int) gpu.Pointer {
	return p.rowsOfA.Pointer + gpu.Pointer(int64(i-p.plan.low)*int64(p.plan.depth)*p.plan.width)
}

// product queues a product, after the copies in that it needs. They are in order.
func (p *resident) product(i int) error {
	t := p.order.products[i]
	if err := p.compute.Wait(p.copied[t.loaded-1].end); err != nil {
		return err
	}
	return p.computed[i].around(p.compute, func() error {
		return p.multiply(p.kind, p.products[i].Pointer, p.row(t.top), p.panels[t.panel].Pointer, t.rows(), t.cols(),
			p.plan.depth)
	})
}

// copyOut queues the copy of a product to C, after the product and the copy before.
func (p *resident) copyOut(i int) error {
	q := p.outOf(i)
	if err := q.Wait(p.computed[i].end); err != nil {
		return err
	}
	if i > 0 {
		if err := q.Wait(p.left[i-1].end); err != nil {
			return err
		}
	}
	return p.left[i].around(q, func() error {
		return p.c.copyOut(q, p.order.products[i].rectangle, p.products[i].Pointer)
	})
}

// outOf is the queue of the copy of a product.
func (p *resident) outOf(i int) *gpu.Queue { return p.out[i%len(p.out)] }

func (p *resident) synchronize() error {
	var errs []error
	for _, q := range append([]*gpu.Queue{p.in}, p.out...) {
		if q != nil {
			errs = append(errs, q.Synchronize())
		}
	}
	return errors.Join(errs...)
}

// addSeconds adds the seconds of all intervals.
func addSeconds(total *float64, all []interval) error {
	for _, s := range all {
		seconds, err := s.seconds()
		if err != nil {
			return err
		}
		*total += seconds
	}
	return nil
}

func (p *resident) close() error {
	errs := []error{p.synchronize()}
	for _, q := range append([]*gpu.Queue{p.in}, p.out...) {
		if q != nil {
			errs = append(errs, q.Close())
		}
	}
	for _, m := range p.memories() {
		errs = append(errs, m.Free())
	}
	for _, all := range [][]interval{p.copied, p.computed, p.left} {
		for _, s := range all {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}

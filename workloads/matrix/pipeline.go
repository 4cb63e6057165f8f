package matrix

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// pipeline computes one card's rows of C. All calls are within the card's Do.
type pipeline interface {
	// open allocates the card's memory and the pinned staging memory.
	open() error
	// spoil fills the memory that a run writes, on the card and for staging, with NaN.
	spoil() error
	// run computes the rows.
	run(ctx context.Context) error
	// times returns the parts of the last run's time.
	times() measure.Split
	close() error
}

// part is the part of a product that one card computes.
type part struct {
	*station
	plan    plan
	kind    gpu.Precision
	c, a, b image
	split   measure.Split
}

func (p *part) times() measure.Split { return p.split }

// streamed is the pipeline for a card that cannot hold all of A, B and C. It copies B in panel by
// panel. For each panel it copies the blocks of A in, while the previous block is computed and the
// one before that is copied out.
type streamed struct {
	part
	// staged is whether copies go through pinned memory of the slots, because the matrices are not
	// pinned.
	staged  bool
	threads int
	// panel is the card's memory for a panel of B.
	panel *gpu.Memory
	slots []*slot
	next  int
	// lastIn and lastOut are the end marks of the last copies. The next copy in the same direction
	// waits for that mark on its own queue, so that its own marks measure only itself.
	lastIn, lastOut *gpu.Mark
}

// slot is the memory for one block, and the queue of its copies.
type slot struct {
	queue *gpu.Queue
	a, c  *gpu.Memory
	// stageA and stageC are nil if the matrices themselves are copied.
	stageA, stageC  *gpu.HostMemory
	in, kernel, out interval
	// copied is whether a copy in is queued; leaving is the part of C whose copy out is queued, or nil.
	copied  bool
	leaving *rectangle
}

// interval is two marks around one copy or kernel.
type interval struct{ start, end *gpu.Mark }

func newInterval(c *gpu.Card) (s interval, err error) {
	if s.start, err = c.NewMark(); err == nil {
		s.end, err = c.NewMark()
	}
	return s, err
}

func (s interval) seconds() (float64, error) { return s.end.Since(s.start) }

// around records the marks on the queue, before and after what f queues.
func (s interval) around(q *gpu.Queue, f func() error) error {
	if err := q.Record(s.start); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return q.Record(s.end)
}

func (s interval) close() error {
	var errs []error
	for _, m := range []*gpu.Mark{s.start, s.end} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	return errors.Join(errs...)
}

func (p *streamed) open() (err error) {
	if p.plan.rows() == 0 {
		return nil
	}
	w := p.plan.width
	if p.panel, err = p.card.Alloc(int64(p.plan.depth) * int64(p.plan.panel) * w); err != nil {
		return fmt.Errorf("memory for B: %w", err)
	}
	for range p.plan.slots() {
		s := new(slot)
		p.slots = append(p.slots, s)
		if err := s.open(p.card, p.plan.blockA()*w, p.plan.blockC()*w, p.staged); err != nil {
			return err
		}
	}
	return nil
}

func (s *slot) open(c *gpu.Card, bytesA, bytesC int64, staged bool) (err error) {
	if s.a, err = c.Alloc(bytesA); err != nil {
		return fmt.Errorf("memory for a block of A: %w", err)
	}
	if s.c, err = c.Alloc(bytesC); err != nil {
		return fmt.Errorf("memory for a block of C: %w", err)
	}
	if staged {
		if s.stageA, err = c.AllocHost(bytesA); err != nil {
			return fmt.Errorf("pinned memory for copies in: %w", err)
		}
		if s.stageC, err = c.AllocHost(bytesC); err != nil {
			return fmt.Errorf("pinned memory for copies out: %w", err)
		}
	}
	if s.queue, err = c.NewQueue(); err != nil {
		return err
	}
	for _, span := range []*interval{&s.in, &s.kernel, &s.out} {
		if *span, err = newInterval(c); err != nil {
			return err
		}
	}
	return nil
}

func (p *streamed) spoil() error {
	for _, m := range p.memories() {
		if err := p.compute.Fill(m.Pointer, spoiled, m.Bytes); err != nil {
			return err
		}
	}
	for _, s := range p.slots {
		for _, stage := range []*gpu.HostMemory{s.stageA, s.stageC} {
			if stage != nil {
				spoilBytes(stage.Data)
			}
		}
	}
	return p.compute.Synchronize()
}

func (p *streamed) memories() []*gpu.Memory {
	var all []*gpu.Memory
	for _, s := range p.slots {
		all = append(all, p.panel, s.a, s.c)
	}
	return all
}

func (p *streamed) run(ctx context.Context) error {
	p.split, p.next, p.lastIn, p.lastOut = measure.Split{}, 0, nil, nil
	if p.plan.rows() == 0 {
		return nil
	}
	for left := 0; left < p.plan.cols; left += p.plan.panel {
		right := min(left+p.plan.panel, p.plan.cols)
		if err := p.loadPanel(ctx, left, right); err != nil {
			return fmt.Errorf("copy B: %w", err)
		}
		for top := p.plan.low; top < p.plan.high; top += p.plan.block {
			if err := p.computeBlock(ctx, rectangle{top, min(top+p.plan.block, p.plan.high), left, right}); err != nil {
				return err
			}
		}
	}
	for range p.slots {
		if _, err := p.take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// loadPanel copies columns of B in: in one piece, or in pieces through the staging memory for A.
func (p *streamed) loadPanel(ctx context.Context, left, right int) error {
	if err := p.compute.Synchronize(); err != nil { // products may still read the previous panel
		return err
	}
	piece := p.plan.depth
	if p.staged {
		piece = max(1, int(p.plan.blockA()/int64(right-left)))
	}
	for top := 0; top < p.plan.depth; top += piece {
		s, err := p.take(ctx)
		if err != nil {
			return err
		}
		part := rectangle{top, min(top+piece, p.plan.depth), left, right}
		at := p.panel.Pointer + gpu.Pointer(int64(top)*int64(right-left)*p.plan.width)
		if err := p.copyIn(ctx, s, at, p.b, part); err != nil {
			return err
		}
	}
	return nil
}

// computeBlock queues the work of one block of C: A in, the product, C out.
func (p *streamed) computeBlock(ctx context.Context, r rectangle) error {
	s, err := p.take(ctx)
	if err != nil {
		return err
	}
	if err := p.copyIn(ctx, s, s.a.Pointer, p.a, rectangle{r.top, r.bottom, 0, p.plan.depth}); err != nil {
		return fmt.Errorf("copy A: %w", err)
	}
	if err := p.product(s, r); err != nil {
		return fmt.Errorf("multiply: %w", err)
	}
	if err := p.copyOut(s, r); err != nil {
		return fmt.Errorf("copy C: %w", err)
	}
	return nil
}

// take returns the next slot, after its block has been copied out. It is an error if the run is
// stopped.
func (p *streamed) take(ctx context.Context) (*slot, error) {
	if err := measure.Stopped(ctx); err != nil {
		return nil, err
	}
	s := p.slots[p.next%len(p.slots)]
	p.next++
	if err := s.queue.Synchronize(); err != nil {
		return nil, err
	}
	return s, p.finish(ctx, s)
}

// finish adds the times of a slot's work to split, and copies its staged part of C to the matrix.
func (p *streamed) finish(ctx context.Context, s *slot) error {
	times := []struct {
		passed bool
		span   interval
		total  *float64
	}{{s.copied, s.in, &p.split.CopyIn}, {s.leaving != nil, s.kernel, &p.split.Kernel},
		{s.leaving != nil, s.out, &p.split.CopyOut}}
	for _, t := range times {
		if !t.passed {
			continue
		}
		seconds, err := t.span.seconds()
		if err != nil {
			return err
		}
		*t.total += seconds
	}
	leaving := s.leaving
	s.copied, s.leaving = false, nil
	if leaving == nil || !p.staged {
		return nil
	}
	return p.eachLine(ctx, *leaving, func(i int) { p.c.unpack(s.stageC.Data, *leaving, i) })
}

// copyIn queues the copy of a rectangle to the address to.
func (p *streamed) copyIn(ctx context.Context, s *slot, to gpu.Pointer, m image, r rectangle) error {
	copy := func() error { return m.copyIn(s.queue, to, r) }
	if p.staged {
		from := s.stageA.Data[:r.elements()*m.width]
		if err := p.eachLine(ctx, r, func(i int) { m.pack(from, r, i) }); err != nil {
			return err
		}
		copy = func() error { return s.queue.CopyIn(to, from) }
	}
	if err := s.mark(&p.lastIn, s.in, copy); err != nil {
		return err
	}
	s.copied = true
	return p.compute.Wait(s.in.end)
}

// copyOut queues the copy of a block of C, after its product.
func (p *streamed) copyOut(s *slot, r rectangle) error {
	copy := func() error { return p.c.copyOut(s.queue, r, s.c.Pointer) }
	if p.staged {
		copy = func() error { return s.queue.CopyOut(s.stageC.Data[:r.elements()*p.plan.width], s.c.Pointer) }
	}
	if err := s.queue.Wait(s.kernel.end); err != nil {
		return err
	}
	s.leaving = &r
	return s.mark(&p.lastOut, s.out, copy)
}

// mark queues a copy between its marks, after the last one in the same direction.
func (s *slot) mark(last **gpu.Mark, span interval, copy func() error) error {
	if *last != nil {
		if err := s.queue.Wait(*last); err != nil {
			return err
		}
	}
	*last = span.end
	return span.around(s.queue, copy)
}

func (p *streamed) product(s *slot, r rectangle) error {
	return s.kernel.around(p.compute, func() error {
		return p.multiply(p.kind, s.c.Pointer, s.a.Pointer, p.panel.Pointer, r.rows(), r.cols(), p.plan.depth)
	})
}

// eachLine calls f for each row of a rectangle, on the card's share of goroutines.
func (p *streamed) eachLine(ctx context.Context, r rectangle, f func(i int)) error {
	return measure.Parallel(ctx, p.threads, r.rows(), rowBand, func(low, high int) {
		for i := low; i < high; i++ {
			f(i)
		}
	})
}

func (p *streamed) close() error {
	var errs []error
	for _, s := range p.slots {
		errs = append(errs, s.close())
	}
	if p.panel != nil {
		errs = append(errs, p.panel.Free())
	}
	return errors.Join(errs...)
}

func (s *slot) close() error {
	var errs []error
	if s.queue != nil {
		errs = append(errs, s.queue.Synchronize(), s.queue.Close())
	}
	for _, m := range []*gpu.Memory{s.a, s.c} {
		if m != nil {
			errs = append(errs, m.Free())
		}
	}
	for _, m := range []*gpu.HostMemory{s.stageA, s.stageC} {
		if m != nil {
			errs = append(errs, m.Free())
		}
	}
	for _, span := range []interval{s.in, s.kernel, s.out} {
		errs = append(errs, span.close())
	}
	return errors.Join(errs...)
}

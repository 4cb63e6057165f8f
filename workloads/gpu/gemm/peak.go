package gemm

import (
	"errors"
	"fmt"

	"github.com/batchctl/batchctl/workloads/gpu"
)

const (
	// peakBlocks blocks of peakThreads for each multiprocessor are enough to hide that an
	// operation takes a few clocks.
	peakBlocks, peakThreads = 4, 256
	// A measurement takes as many rounds as fill peakSeconds, so that the start of a launch
	// does not count. The best of peakRepeats is taken, the first of which also see to it
	// that the clock has gone up.
	peakSeconds, peakRepeats = 4e-3, 8
)

// Peak measures what the card computes at that precision when nothing else limits it, in
// floating-point operations per second: multiply-adds in registers, on the units that
// Multiply uses. It takes some milliseconds.
func (k *Kernels) Peak(q *gpu.Queue, p gpu.Precision) (float64, error) {
	u, err := k.unit(p)
	if err != nil {
		return 0, err
	}
	rate, err := k.measure(q, u)
	if err != nil {
		return 0, fmt.Errorf("measure the peak for %s: %w", p, err)
	}
	return rate, nil
}

// FMAPeak measures what the card's ordinary units multiply and add in float32, in
// floating-point operations per second, without the kernels that multiply matrices.
func FMAPeak(c *gpu.Card, q *gpu.Queue) (rate float64, err error) {
	k := &Kernels{card: c}
	defer func() { err = errors.Join(err, k.Close()) }()
	if k.never, err = c.Alloc(8); err != nil {
		return 0, err
	}
	library, err := c.Load(ptx(peakPTX))
	if err != nil {
		return 0, err
	}
	k.libraries = append(k.libraries, library)
	d, ok := designFor(gpu.Float32, c.Info.Capability, 0)
	if !ok {
		return 0, fmt.Errorf("no kernel measures the peak of %s", c)
	}
	peak, err := library.Kernel(d.peak.name, 0)
	if err != nil {
		return 0, err
	}
	return k.measure(q, &unit{design: d, peak: peak})
}

func (k *Kernels) measure(q *gpu.Queue, u *unit) (best float64, err error) {
	timer, err := newTimer(k.card)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, timer.close()) }()
	blocks := max(1, k.card.Info.Multiprocessors) * peakBlocks
	run := func(rounds int32) (float64, error) {
		return timer.time(q, func() error {
			arguments := append([]any{k.never.Pointer, rounds}, u.design.peak.arguments...)
			return q.Launch(u.peak, gpu.Dim{uint32(blocks), 1, 1}, gpu.Dim{peakThreads, 1, 1}, 0, arguments...)
		})
	}
	rounds, err := fill(run)
	if err != nil {
		return 0, err
	}
	operations := u.design.peak.operations * float64(blocks) * peakThreads * float64(rounds)
	for range peakRepeats {
		seconds, err := run(rounds)
		if err != nil {
			return 0, err
		}
		best = max(best, operations/seconds)
	}
	return best, nil
}

// fill finds a number of rounds that takes peakSeconds or more.
func fill(run func(rounds int32) (float64, error)) (int32, error) {
	const limit = 1 << 24
	for rounds := int32(1); ; {
		seconds, err := run(rounds)
		if err != nil || seconds >= peakSeconds || rounds == limit {
			return rounds, err
		}
		more := min(max(1.2*peakSeconds/seconds, 2), 64)
		rounds = int32(min(float64(rounds)*more, limit))
	}
}

// timer takes the time of work on a queue by two marks.
type timer struct{ start, end *gpu.Mark }

func newTimer(c *gpu.Card) (timer, error) {
	start, err := c.NewMark()
	if err != nil {
		return timer{}, err
	}
	end, err := c.NewMark()
	if err != nil {
		return timer{}, errors.Join(err, start.Close())
	}
	return timer{start, end}, nil
}

func (t timer) close() error { return errors.Join(t.start.Close(), t.end.Close()) }

// time is the seconds that the work takes, and never less than what marks can tell.
func (t timer) time(q *gpu.Queue, work func() error) (float64, error) {
	err := q.Record(t.start)
	if err == nil {
		err = work()
	}
	if err == nil {
		err = q.Record(t.end)
	}
	if err == nil {
		err = q.Synchronize()
	}
	if err != nil {
		return 0, err
	}
	const resolution = 0.5e-6
	seconds, err := t.end.Since(t.start)
	return max(seconds, resolution), err
}

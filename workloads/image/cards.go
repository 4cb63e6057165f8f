package image

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/gemm"
	"github.com/batchctl/batchctl/workloads/gpu/pixels"
	"github.com/batchctl/batchctl/workloads/measure"
)

// cards is the engine of GPUs. Image i of a batch is computed by card i modulo their
// number; cards need nothing of each other.
type cards struct {
	stations []*station
	gpus     gpu.Cards
	// launches are those that were made, so that the tables of a shape are on a card once.
	launches map[launchKey]launch
}

type launchKey struct {
	operation string
	params    Params
	dst, src  Shape
}

// station is a card with its queues: images come in on one, are computed on the next
// and leave on the last.
type station struct {
	card             *gpu.Card
	in, compute, out *gpu.Queue
	kernels          *pixels.Kernels // loaded by the first run
	fmaPeak          float64         // in operations per second, once measured
	memoryBudget     int64           // bytes that images may take
}

// newCards takes the cards, also where it fails.
func newCards(all gpu.Cards) (*cards, error) {
	e := &cards{gpus: all, stations: make([]*station, len(all)), launches: map[launchKey]launch{}}
	err := all.Each(func(i int, c *gpu.Card) error {
		e.stations[i] = &station{card: c}
		return e.stations[i].open()
	})
	if err != nil {
		return nil, cmp.Or(err, e.close())
	}
	return e, nil
}

// open makes the queues and looks how much memory is free; an eighth of it is left to
// the kernels and their tables.
func (s *station) open() error {
	for _, q := range []**gpu.Queue{&s.in, &s.compute, &s.out} {
		var err error
		if *q, err = s.card.NewQueue(); err != nil {
			return err
		}
	}
	free, _, err := s.card.Driver().MemoryInfo()
	s.memoryBudget = free - free/8
	return err
}

// peak is what the card multiplies and adds in float32 when nothing else limits it.
func (s *station) peak() (float64, error) {
	var err error
	if s.fmaPeak == 0 {
		s.fmaPeak, err = gemm.FMAPeak(s.card, s.compute)
	}
	return s.fmaPeak, err
}

// load compiles the kernels for the card, once.
func (s *station) load() (err error) {
	if s.kernels == nil {
		s.kernels, err = pixels.Load(s.card)
	}
	return err
}

func (s *station) close() (err error) {
	if s.kernels != nil {
		err = s.kernels.Close()
	}
	for _, q := range []*gpu.Queue{s.in, s.compute, s.out} {
		if q != nil {
			err = cmp.Or(err, q.Close())
		}
	}
	return err
}

func (e *cards) close() error {
	err := e.gpus.Each(func(i int, _ *gpu.Card) error { return e.stations[i].close() })
	return cmp.Or(err, e.gpus.Close())
}

// check asks for room for one input and one output, and whether there is a kernel.
func (e *cards) check(op Operation, p Params, s Shape) error {
	to := op.output(p, s)
	least := slices.MinFunc(e.stations, func(a, b *station) int { return int(a.memoryBudget - b.memoryBudget) })
	if need := slotBytes(s, to, 1); need > least.memoryBudget {
		side := math.Sqrt(float64(s.W) * float64(s.H) * float64(least.memoryBudget) / float64(need))
		return fmt.Errorf("%s of an image of %v needs %s of memory for input and output, and %v has %s free for them; choose images of at most about %dx%[6]d, or run with --device cpu",
			op.Name, s, measure.Size(need), least.card, measure.Size(least.memoryBudget), int(side))
	}
	_, err := e.launch(op, p, to, s)
	return err
}

func (e *cards) launch(op Operation, p Params, dst, src Shape) (launch, error) {
	key := launchKey{op.Name, p, dst, src}
	if made, ok := e.launches[key]; ok {
		return made, nil
	}
	made, err := op.card(p, dst, src)
	if err == nil {
		e.launches[key] = made
	}
	return made, err
}

// images lie in pinned memory, those of a card one behind the other: a card copies from
// and to such memory on its own, at full speed and while it computes.
func (e *cards) images(s Shape, n int) ([]Image, func() error, error) {
	all, count := make([]Image, n), len(e.stations)
	slabs := make([]*gpu.HostMemory, count)
	release := func() error {
		return e.gpus.Each(func(i int, _ *gpu.Card) error {
			if slabs[i] == nil {
				return nil
			}
			return slabs[i].Free()
		})
	}
	err := e.gpus.Each(func(i int, c *gpu.Card) (err error) {
		mine := (n - i + count - 1) / count
		if mine <= 0 {
			return nil
		}
		size := s.Bytes()
		if slabs[i], err = c.AllocHost(int64(mine) * size); err != nil {
			return fmt.Errorf("pin memory for %d images of %v: %w", mine, s, err)
		}
		for k := range int64(mine) {
			all[i+int(k)*count] = Image{Shape: s, Stride: s.rowBytes(), Pix: slabs[i].Data[k*size : (k+1)*size]}
		}
		return nil
	})
	if err != nil {
		return nil, nil, cmp.Or(err, release())
	}
	return all, release, nil
}

func (e *cards) alone(n int) engine {
	if len(e.stations) == 1 || n < len(e.stations) {
		return nil
	}
	return &cards{stations: e.stations[:1], gpus: e.gpus[:1], launches: e.launches}
}

// prepare takes the memory of the cards that get an image.
func (e *cards) prepare(w *row, p Params, dst, src []Image) (job, error) {
	compute, err := e.launch(w.op, p, dst[0].Shape, src[0].Shape)
	if err != nil {
		return nil, err
	}
	count := min(len(e.stations), len(src))
	j := &cardJob{gpus: e.gpus[:count], rings: make([]*ring, count), bytes: sizeOf(dst) + sizeOf(src), arithmetic: w.op.work != nil}
	err = j.gpus.Each(func(i int, _ *gpu.Card) error {
		j.rings[i] = newRing(e.stations[i], compute, every(dst, i, count), every(src, i, count))
		return j.rings[i].open()
	})
	if err != nil {
		return nil, cmp.Or(fmt.Errorf("prepare %s: %w", w.op.Name, err), j.close())
	}
	return j, nil
}

// every is each image whose number is first modulo count.
func every(images []Image, first, count int) []Image {
	var all []Image
	for i := first; i < len(images); i += count {
		all = append(all, images[i])
	}
	return all
}

// cardJob is an operation on the images of a batch, a part of them on each card.
type cardJob struct {
	gpus  gpu.Cards
	rings []*ring
	bytes int64
	// shares are what each card did in each run.
	shares [][]share
	// copied is how long the same bytes took without being computed, in each run.
	copied []float64
	// bandwidth is how fast all cards copy within their memory, in bytes per second, and
	// peak what they multiply and add in one, where the operation can be bound by that.
	bandwidth, peak float64
	arithmetic      bool
}

func (j *cardJob) before(ctx context.Context) error {
	seconds := make([]float64, len(j.rings))
	err := j.gpus.Each(func(i int, _ *gpu.Card) error {
		did, err := j.rings[i].run(ctx, false)
		seconds[i] = did.seconds
		return cmp.Or(err, j.rings[i].spoil())
	})
	j.copied = append(j.copied, slices.Max(seconds))
	return err
}

func (j *cardJob) run(ctx context.Context) error {
	all := make([]share, len(j.rings))
	err := j.gpus.Each(func(i int, _ *gpu.Card) (err error) {
		if err := j.rings[i].load(); err != nil {
			return err
		}
		all[i], err = j.rings[i].run(ctx, true)
		return err
	})
	j.shares = append(j.shares, all)
	return measure.Unusable(err)
}

// after measures the limits once, which do not drift.
func (j *cardJob) after(context.Context) error {
	if j.bandwidth > 0 || j.bytes < leastCopied {
		return nil
	}
	rates, peaks := make([]float64, len(j.rings)), make([]float64, len(j.rings))
	err := j.gpus.Each(func(i int, _ *gpu.Card) (err error) {
		if rates[i], err = j.rings[i].bandwidth(); err == nil && j.arithmetic {
			peaks[i], err = j.rings[i].peak()
		}
		return err
	})
	for i := range rates {
		j.bandwidth += rates[i]
		j.peak += peaks[i]
	}
	return err
}

func (j *cardJob) report(w *row, repeats int) {
	last := len(j.shares) - repeats
	w.cards.add(j.gpus, j.shares[last:], j.copied[last:], j.bandwidth)
	w.cards.peak = j.peak
}

func (j *cardJob) close() error {
	return j.gpus.Each(func(i int, _ *gpu.Card) error {
		if j.rings[i] == nil {
			return nil
		}
		return j.rings[i].close()
	})
}

package image

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/gemm"
	"github.com/batchctl/batchctl/workloads/gpu/pixels"
	"github.com/batchctl/batchctl/workloads/measure"
)

// cards is the engine of GPUs. Card i%n computes image i of a batch, for n cards; the cards do not
// depend on each other.
type cards struct {
	stations []*station
	gpus     gpu.Cards
	// launches caches the prepared kernels, so that the tables of a shape are on a card only once.
	launches map[launchKey]launch
}

// launchKey is everything that the tables of an operation depend on.
type launchKey struct {
	operation string
	params    Params
	dst, src  Shape
}

// station is a card with its queues: images are copied in on one, computed on the next and copied
// out on the last.
type station struct {
	card             *gpu.Card
	in, compute, out *gpu.Queue
	kernels          *pixels.Kernels // loaded by the first run
	fmaPeak          float64         // in operations per second, once measured
	memoryBudget     int64           // bytes that images may take
}

// newCards makes an engine of the cards. It owns them: it closes them if it fails.
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

// open creates the queues and sets the memory budget: the free memory less an eighth, which is for
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

// peak is the card's highest rate of float32 multiply-adds, in operations per second.
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

// check is an error unless each card has memory for one input and one output, and a kernel for
// the operation.
func (e *cards) check(op Operation, p Params, s Shape) error {
	to := op.output(p, s)
	least := slices.MinFunc(e.stations, func(a, b *station) int { return int(a.memoryBudget - b.memoryBudget) })
	if need := slotBytes(s, to, 1); need > least.memoryBudget {
		side := math.Sqrt(float64(s.W) * float64(s.H) * float64(least.memoryBudget) / float64(need))
		return fmt.Errorf("%s of an image of %v needs %s of memory for input and output, and %v has %s free for them; choose images of at most about %dx%[6]d, or run with --device cpu",
			op.Name, s, text.Size(need), least.card, text.Size(least.memoryBudget), int(side))
	}
	_, err := e.launch(op, p, to, s)
	return err
}

// launch returns the operation's kernel for two shapes, with its tables, from the cache if it is
// there.
func (e *cards) launch(op Operation, p Params, dst, src Shape) (launch, error) {
	key := launchKey{op.Name, p, dst, src}
	if prepared, ok := e.launches[key]; ok {
		return prepared, nil
	}
	prepared, err := op.card(p, dst, src)
	if err == nil {
		e.launches[key] = prepared
	}
	return prepared, err
}

// images allocates the images in pinned memory, those of a card one after the other. A card
// copies from and to such memory on its own, at full speed and while it computes.
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

// prepare allocates memory on every card that gets an image.
func (e *cards) prepare(w *row, p Params, dst, src []Image) (job, error) {
	compute, err := e.launch(w.op, p, dst[0].Shape, src[0].Shape)
	if err != nil {
		return nil, err
	}
	count := min(len(e.stations), len(src))
	j := &cardJob{gpus: e.gpus[:count], rings: make([]*ring, count), bytes: sizeOf(dst) + sizeOf(src),
		arithmetic: w.op.work != nil}
	err = j.gpus.Each(func(i int, _ *gpu.Card) error {
		j.rings[i] = newRing(e.stations[i], compute, every(dst, i, count), every(src, i, count))
		return j.rings[i].open()
	})
	if err != nil {
		return nil, cmp.Or(fmt.Errorf("prepare %s: %w", w.op.Name, err), j.close())
	}
	return j, nil
}

// every returns the images first, first+count, first+2*count and so on.
func every(images []Image, first, count int) []Image {
	var all []Image
	for i := first; i < len(images); i += count {
		all = append(all, images[i])
	}
	return all
}

// cardJob is an operation on the images of a batch, divided among the cards.
type cardJob struct {
	gpus  gpu.Cards
	rings []*ring
	bytes int64
	// shares are the times by run and card, warm-up runs included.
	shares [][]share
	// copied is how long the copies alone took before each run, in seconds.
	copied []float64
	// bandwidth is the rate of copies within the memory of all cards, in bytes per second. peak is
	// their rate of multiply-adds, in operations per second, if that can limit the operation.
	bandwidth, peak float64
	arithmetic      bool
	// repeated is how long the kernels of all images take in launches that follow each other, in
	// seconds; of several cards, the slowest.
	repeated float64
}

// before measures the copies without the kernel, and overwrites the cards' memory.
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

// run computes all images, each card its own, and returns when the last card has finished.
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

// after measures the cards' limits once, because they do not drift. Small images have none.
func (j *cardJob) after(context.Context) error {
	if j.bandwidth > 0 || j.bytes < leastCopied {
		return nil
	}
	limits := make([]struct{ bandwidth, peak, repeated float64 }, len(j.rings))
	err := j.gpus.Each(func(i int, _ *gpu.Card) (err error) {
		of, r := &limits[i], j.rings[i]
		if of.bandwidth, err = r.bandwidth(); err != nil {
			return err
		}
		if of.repeated, err = r.repeated(); err == nil && j.arithmetic {
			of.peak, err = r.peak()
		}
		return err
	})
	for _, of := range limits {
		j.bandwidth += of.bandwidth
		j.peak += of.peak
		j.repeated = max(j.repeated, of.repeated)
	}
	return err
}

func (j *cardJob) report(w *row, repeats int) {
	last := len(j.shares) - repeats
	w.cards.add(j.gpus, j.shares[last:], j.copied[last:], j.bandwidth)
	w.cards.peak = j.peak
	w.cards.repeated += j.repeated
}

func (j *cardJob) close() error {
	return j.gpus.Each(func(i int, _ *gpu.Card) error {
		if j.rings[i] == nil {
			return nil
		}
		return j.rings[i].close()
	})
}

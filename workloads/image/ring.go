package image

import (
	"cmp"
	"context"
	"time"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

const (
	// ringSlots hold a chunk that comes in, one that is computed and one that leaves.
	ringSlots = 3
	// chunkBytes is what a chunk of small images should hold, input and output: enough
	// that its copies take longer than the calls that start them.
	chunkBytes = 16 << 20
	// roundChunks are put on the queues at once; then the ring runs empty. It bounds the
	// number of marks, and the time to a stop.
	roundChunks = 128
	// alignedTo is where images begin: what the driver itself aligns memory to.
	alignedTo = 256
)

// ring is a card's memory for one operation: slots through which chunks of the batch go,
// so that one comes in while another is computed and a third leaves.
type ring struct {
	*station
	launch   launch
	from, to Shape
	chunks   []chunk
	slots    []*gpu.Memory
	marks    []*passage
}

// chunk is images that a slot takes at once.
type chunk struct{ dst, src []Image }

// passage is the marks of one chunk on its way.
type passage struct{ comes, arrived, begins, computed, leaves, left *gpu.Mark }

func (p *passage) all() []**gpu.Mark {
	return []**gpu.Mark{&p.comes, &p.arrived, &p.begins, &p.computed, &p.leaves, &p.left}
}

// share is what one card did in one run: the time of it all, and the sums of its parts.
type share struct {
	seconds float64
	measure.Split
}

// slotBytes is the size of a slot for that many images: the inputs, and the outputs
// after them.
func slotBytes(from, to Shape, images int64) int64 {
	return outputsAt(from, images) + align(images*to.Bytes())
}

func outputsAt(from Shape, images int64) int64 { return align(images * from.Bytes()) }

func align(n int64) int64 { return (n + alignedTo - 1) / alignedTo * alignedTo }

// newRing divides the images into chunks, smaller and fewer at a time where the card's
// memory is short.
func newRing(s *station, compute launch, dst, src []Image) *ring {
	r := &ring{station: s, launch: compute, from: src[0].Shape, to: dst[0].Shape}
	size := min(max(chunkBytes/slotBytes(r.from, r.to, 1), 1), int64(len(src)))
	for size > 1 && ringSlots*slotBytes(r.from, r.to, size) > s.memoryBudget {
		size--
	}
	for low := 0; low < len(src); low += int(size) {
		high := min(low+int(size), len(src))
		r.chunks = append(r.chunks, chunk{dst[low:high], src[low:high]})
	}
	slots := min(ringSlots, len(r.chunks), int(s.memoryBudget/slotBytes(r.from, r.to, size)))
	r.slots = make([]*gpu.Memory, max(slots, 1))
	return r
}

// open takes the memory and makes the marks.
func (r *ring) open() (err error) {
	size := int64(len(r.chunks[0].src))
	for i := range r.slots {
		if r.slots[i], err = r.card.Alloc(slotBytes(r.from, r.to, size)); err != nil {
			return err
		}
	}
	for range min(len(r.chunks), roundChunks) {
		p := &passage{}
		r.marks = append(r.marks, p)
		for _, m := range p.all() {
			if *m, err = r.card.NewMark(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *ring) close() (err error) {
	for _, m := range r.slots {
		if m != nil {
			err = cmp.Or(err, m.Free())
		}
	}
	for _, p := range r.marks {
		for _, m := range p.all() {
			if *m != nil {
				err = cmp.Or(err, (*m).Close())
			}
		}
	}
	return err
}

// spoil writes what no run may leave behind into all of the ring.
func (r *ring) spoil() error {
	for _, m := range r.slots {
		if err := r.compute.Fill(m.Pointer, 0x5A, m.Bytes); err != nil {
			return err
		}
	}
	return r.compute.Synchronize()
}

// run sends all chunks through the ring, and computes them unless only copies are wanted.
func (r *ring) run(ctx context.Context, computed bool) (share, error) {
	var did share
	start := time.Now()
	for low := 0; low < len(r.chunks); low += roundChunks {
		if err := measure.Stopped(ctx); err != nil {
			return did, err
		}
		round := r.chunks[low:min(low+roundChunks, len(r.chunks))]
		for i, c := range round {
			if err := r.send(i, c, computed); err != nil {
				return did, err
			}
		}
		if err := r.finish(&did, len(round)); err != nil {
			return did, err
		}
	}
	did.seconds = max(time.Since(start), time.Nanosecond).Seconds()
	return did, nil
}

// send puts a chunk, the i-th of its round, on the queues.
func (r *ring) send(i int, c chunk, computed bool) error {
	p := r.marks[i]
	input := r.slots[i%len(r.slots)].Pointer
	output := input + gpu.Pointer(outputsAt(r.from, int64(len(r.chunks[0].src))))
	steps := []func() error{
		func() error { return r.in.Record(p.comes) },
		func() error { return copyIn(r.in, input, c.src) },
		func() error { return r.in.Record(p.arrived) },
		func() error { return r.compute.Wait(p.arrived) },
		func() error { return r.compute.Record(p.begins) },
		func() error {
			if !computed {
				return nil
			}
			return r.launch(r.kernels, r.compute, batchAt(output, r.to, len(c.dst)), batchAt(input, r.from, len(c.src)))
		},
		func() error { return r.compute.Record(p.computed) },
		func() error { return r.out.Wait(p.computed) },
		func() error { return r.out.Record(p.leaves) },
		func() error { return copyOut(r.out, c.dst, output) },
		func() error { return r.out.Record(p.left) },
	}
	if before := i - len(r.slots); before >= 0 {
		// The slot's last chunk has to be computed before its input is overwritten, and
		// to have left before its output is.
		if err := cmp.Or(r.in.Wait(r.marks[before].computed), r.compute.Wait(r.marks[before].left)); err != nil {
			return err
		}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// copyIn puts copies of the images, one behind the other, on the queue.
func copyIn(q *gpu.Queue, to gpu.Pointer, images []Image) error {
	for _, piece := range pieces(images) {
		if err := q.CopyIn(to, piece); err != nil {
			return err
		}
		to += gpu.Pointer(len(piece))
	}
	return nil
}

func copyOut(q *gpu.Queue, images []Image, from gpu.Pointer) error {
	for _, piece := range pieces(images) {
		if err := q.CopyOut(piece, from); err != nil {
			return err
		}
		from += gpu.Pointer(len(piece))
	}
	return nil
}

// pieces are the pixels of the images in as few slices as they lie in.
func pieces(images []Image) [][]byte {
	var all [][]byte
	for _, m := range images {
		if last := len(all) - 1; last >= 0 {
			if n := len(all[last]); cap(all[last]) >= n+len(m.Pix) && &all[last][:n+1][n] == &m.Pix[0] {
				all[last] = all[last][:n+len(m.Pix)]
				continue
			}
		}
		all = append(all, m.Pix)
	}
	return all
}

// finish waits for a round of that many chunks and adds up where its time went. It waits for
// the last queue first, whose work waits for all other on its own.
func (r *ring) finish(did *share, chunks int) error {
	for _, q := range []*gpu.Queue{r.out, r.compute, r.in} {
		if err := q.Synchronize(); err != nil {
			return err
		}
	}
	for _, p := range r.marks[:chunks] {
		for _, part := range []struct {
			sum        *float64
			start, end *gpu.Mark
		}{{&did.CopyIn, p.comes, p.arrived}, {&did.Kernel, p.begins, p.computed}, {&did.CopyOut, p.leaves, p.left}} {
			seconds, err := part.end.Since(part.start)
			if err != nil {
				return err
			}
			*part.sum += seconds
		}
	}
	return nil
}

// bandwidth is how fast the card copies within a slot, one half of it to the other: as
// many bytes as a chunk reads and writes, and as near or far in its caches.
func (r *ring) bandwidth() (float64, error) {
	half := r.slots[0].Bytes / 2 / alignedTo * alignedTo
	if half == 0 {
		return 0, nil
	}
	p := r.slots[0].Pointer
	return r.kernels.CopyBandwidth(r.compute, p+gpu.Pointer(half), p, half)
}

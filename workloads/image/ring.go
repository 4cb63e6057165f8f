package image

import (
	"cmp"
	"context"
	"time"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

const (
	// ringSlots is the number of slots: one chunk is copied in, one is computed and one is copied
	// out.
	ringSlots = 3
	// chunkBytes is the target size of a chunk of small images, input and output: its copies then
	// take longer than the calls that start them.
	chunkBytes = 16 << 20
	// roundChunks is the number of chunks that are queued at once; then the ring runs empty. It
	// bounds the number of marks, and the time until a stop.
	roundChunks = 128
	// alignedTo is the alignment of images in bytes, as the driver aligns allocations.
	alignedTo = 256
)

// ring is a card's memory for one operation: slots through which the chunks of a batch go. One
// chunk is copied in while another is computed and a third is copied out.
type ring struct {
	*station
	launch launch
	// from and to are the shapes of inputs and outputs.
	from, to Shape
	chunks   []chunk
	slots    []*gpu.Memory
	marks    []*passage
}

// chunk is the images that go through a slot together.
type chunk struct{ dst, src []Image }

// passage is the marks of one chunk: when its copy in, its kernel and its copy out begin and end.
type passage struct{ comes, arrived, begins, computed, leaves, left *gpu.Mark }

func (p *passage) all() []**gpu.Mark {
	return []**gpu.Mark{&p.comes, &p.arrived, &p.begins, &p.computed, &p.leaves, &p.left}
}

// share is the work of one card in one run: the whole time in seconds, and the sums of its parts.
type share struct {
	seconds float64
	measure.Split
}

// slotBytes is the size of a slot for that many images: the inputs, then the outputs.
func slotBytes(from, to Shape, images int64) int64 {
	return outputsAt(from, images) + align(images*to.Bytes())
}

// outputsAt is the offset of the outputs in a slot.
func outputsAt(from Shape, images int64) int64 { return align(images * from.Bytes()) }

func align(n int64) int64 { return (n + alignedTo - 1) / alignedTo * alignedTo }

// newRing divides the images into chunks. If the card's memory is short, chunks are smaller and
// there are fewer slots.
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

// open allocates the slots and creates the marks. close frees them, also after an error.
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

// spoil overwrites all slots, so that an output that the kernel does not write is found.
func (r *ring) spoil() error {
	for _, m := range r.slots {
		if err := r.compute.Fill(m.Pointer, 0x5A, m.Bytes); err != nil {
			return err
		}
	}
	return r.compute.Synchronize()
}

// run sends all chunks through the ring and waits. Without computed it only copies them.
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

// send queues the work of a chunk, the i-th of its round. It does not wait.
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
		// The slot's previous chunk must be computed before its input is overwritten, and copied
		// out before its output is.
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

// copyIn queues copies of the images to the address to, one after the other.
func copyIn(q *gpu.Queue, to gpu.Pointer, images []Image) error {
	for _, piece := range pieces(images) {
		if err := q.CopyIn(to, piece); err != nil {
			return err
		}
		to += gpu.Pointer(len(piece))
	}
	return nil
}

// copyOut queues copies of the images from the address from, one after the other.
func copyOut(q *gpu.Queue, images []Image, from gpu.Pointer) error {
	for _, piece := range pieces(images) {
		if err := q.CopyOut(piece, from); err != nil {
			return err
		}
		from += gpu.Pointer(len(piece))
	}
	return nil
}

// pieces returns the pixels of the images; images that are adjacent in memory share a slice.
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

// finish waits for a round of that many chunks and adds the times of its parts to did. It waits
// for the last queue first, whose work depends on all other.
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

// repeated is how long the kernels of all the card's images take, in seconds, if their launches
// follow each other without a gap. The launches of a run wait for copies, and each has its start in
// its time. It computes on what is in the first slot.
func (r *ring) repeated() (float64, error) {
	images := len(r.chunks[0].src)
	input := r.slots[0].Pointer
	output := input + gpu.Pointer(outputsAt(r.from, int64(images)))
	seconds, err := r.kernels.Repeated(r.compute, func() error {
		return r.launch(r.kernels, r.compute, batchAt(output, r.to, images), batchAt(input, r.from, images))
	})
	all := 0
	for _, c := range r.chunks {
		all += len(c.src)
	}
	return seconds * float64(all) / float64(images), err
}

// bandwidth is the card's rate of copies from one half of a slot to the other, in bytes per
// second. It moves as many bytes as a chunk reads and writes, so caches have the same effect.
func (r *ring) bandwidth() (float64, error) {
	half := r.slots[0].Bytes / 2 / alignedTo * alignedTo
	if half == 0 {
		return 0, nil
	}
	p := r.slots[0].Pointer
	return r.kernels.CopyBandwidth(r.compute, p+gpu.Pointer(half), p, half)
}

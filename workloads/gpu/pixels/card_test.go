//go:build linux && (amd64 || arm64)

package pixels

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
)

// bench is a card with the kernels, within its Do.
type bench struct {
	testing.TB
	card    *gpu.Card
	kernels *Kernels
	queue   *gpu.Queue
}

// onCard runs f on a card of the fake driver, or of the sanitized one that a test has set.
func onCard(t *testing.T, f func(b *bench)) {
	t.Helper()
	if os.Getenv(libcuda.Variable) == "" {
		t.Setenv(libcuda.Variable, filepath.Join(fakecuda.Build(t), "libcuda.so.1"))
	}
	d, err := libcuda.Open()
	must(t, err)
	c, err := gpu.Open(d, 0)
	must(t, err)
	err = c.Do(func() error {
		b := &bench{TB: t, card: c}
		b.kernels, err = Load(c)
		must(t, err)
		b.queue, err = c.NewQueue()
		must(t, err)
		f(b)
		return errors.Join(b.kernels.Close(), b.queue.Close())
	})
	must(t, errors.Join(err, c.Close()))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is memory of the card with a margin on both sides that no one may write.
type place struct {
	*gpu.Memory
	at   gpu.Pointer
	size int
}

// Margins are 64 bytes and shift what is between them by some more. The memory ends with
// a word, as all that reads words needs.
const margin = 64

func (b *bench) place(size, shift int) place {
	b.Helper()
	m, err := b.card.Alloc(int64(margin+shift+size+margin) &^ 3)
	must(b, err)
	must(b, b.queue.Fill(m.Pointer, 0x5a, m.Bytes))
	return place{m, m.Pointer + margin + gpu.Pointer(shift), size}
}

// read returns what is in the place after the queue is done, and frees it.
func (b *bench) read(p place) []byte {
	b.Helper()
	all := make([]byte, p.Bytes)
	must(b, b.queue.CopyOut(all, p.Pointer))
	must(b, b.queue.Synchronize())
	must(b, p.Free())
	start := int(p.at - p.Pointer)
	for i, v := range all {
		if (i < start || i >= start+p.size) && v != 0x5a {
			b.Errorf("byte %d before or behind an output of %d was set to %d", i-start, p.size, v)
			break
		}
	}
	return all[start:][:p.size]
}

// send puts an input into memory that ends where the word of its last byte does, so that
// what reads further is found.
func (b *bench) send(data []byte, shift int) (at gpu.Pointer, free func()) {
	b.Helper()
	shift %= 16
	m, err := b.card.Alloc(int64(shift+len(data)+3) &^ 3)
	must(b, err)
	must(b, b.queue.CopyIn(m.Pointer+gpu.Pointer(shift), data))
	return m.Pointer + gpu.Pointer(shift), func() { b.Helper(); must(b, m.Free()) }
}

// apply runs one operation on a picture. Shifts are how far from a multiple of 16 the
// output and the input begin.
func (b *bench) apply(p, shape picture, size int, shifts [2]int, f func(dst, src Batch) error) []byte {
	b.Helper()
	dst := b.place(len(shape.data)*size, shifts[0])
	src, free := b.send(p.data, shifts[1])
	must(b, f(shape.batch(dst.at), p.batch(src)))
	got := b.read(dst)
	free()
	return got
}

func (p picture) batch(at gpu.Pointer) Batch {
	return Batch{at, p.width, p.height, p.channels, p.images}
}

func (p picture) String() string {
	return fmt.Sprintf("%d of %dx%d", p.images, p.width, p.height)
}

// same compares an output, sample by sample, with the one that the definition gives.
func (b *bench) same(what string, in picture, got []byte, want picture) {
	b.Helper()
	if bytes.Equal(got, want.data) {
		return
	}
	wrong := 0
	for i, v := range want.data {
		if got[i] == v {
			continue
		}
		if wrong++; wrong < 4 {
			pixel := i / want.channels
			b.Errorf("%s of %v: x %d y %d image %d channel %d is %d, want %d", what, in,
				pixel%want.width, pixel/want.width%want.height, pixel/want.width/want.height, i%want.channels, got[i], v)
		}
	}
	b.Errorf("%s of %v: %d of %d samples differ", what, in, wrong, len(got))
}

// TestSanitized runs the others where every access of a kernel beyond its memory is found.
func TestSanitized(t *testing.T) {
	folder, environment := fakecuda.BuildSanitized(t)
	cmd := exec.Command(os.Args[0], "-test.run=^Test(Half|Sobel|Table|Linear|Resample|ResampleTiles|Gaussian)$")
	cmd.Env = append(append(os.Environ(), environment...), libcuda.Variable+"="+filepath.Join(folder, "libcuda.so.1"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

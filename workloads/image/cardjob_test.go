package image

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
	"github.com/batchctl/batchctl/workloads/gpu/pixels"
)

// fakeCards returns two cards of the fake driver, each with that much memory in MiB. They exist
// only in a process of the test's own, because the driver reads the environment when a process
// starts; in the first process the result is nil.
func fakeCards(t *testing.T, mebibytes string) *cards {
	t.Helper()
	if os.Getenv(libcuda.Variable) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), libcuda.Variable+"="+filepath.Join(fakecuda.Build(t), "libcuda.so.1"),
			"FAKECUDA_DEVICES=2", "FAKECUDA_LATE=1", "FAKECUDA_MEM_MB="+mebibytes)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return nil
	}
	driver, err := libcuda.Open()
	if err != nil {
		t.Fatal(err)
	}
	all, err := gpu.OpenAll(driver, 0)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newCards(all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// onCards runs the operation brightness with other work on the cards in place of its kernel.
func onCards(t *testing.T, e *cards, compute launch, images int) error {
	t.Helper()
	r := testRunner(2)
	r.engine = e
	op := brightness()
	op.card = func(Params, Shape, Shape) (launch, error) { return compute, nil }
	clear(e.launches)
	drawn := testImages(t, images, Shape{W: 61, H: 40, Channels: 3})
	src, release, err := e.images(drawn[0].Shape, images)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	}()
	for i, m := range drawn {
		copy(src[i].Pix, m.Pix)
	}
	w := &row{op: op, kernel: Kernel{Name: cardKernel}}
	err = r.operate(t.Context(), w, src, unused)
	if (err == nil) != (len(w.times.Seconds) == r.options.Repeats) {
		t.Errorf("%v, and %d times", err, len(w.times.Seconds))
	}
	return err
}

// TestWrongCardKernelHasNoTime checks that no time is printed for work on a card that is missing,
// incomplete, or not the same in every run.
func TestWrongCardKernelHasNoTime(t *testing.T) {
	e := fakeCards(t, "64")
	if e == nil {
		return
	}
	table := brightnessTable(testRunner(1).params)
	right := func(k *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error { return k.Table(q, dst, src, table) }
	var runs atomic.Int32 // of both cards
	for _, test := range []struct {
		name, want string
		work       launch
	}{
		{"right", "", right},
		{"nothing", "verify brightness: pixel", func(*pixels.Kernels, *gpu.Queue, pixels.Batch, pixels.Batch) error { return nil }},
		{"not the last image", "verify brightness: pixel", func(k *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error {
			if src.Images--; src.Images == 0 {
				return nil
			}
			dst.Images--
			return right(k, q, dst, src)
		}},
		{"not the last row", "verify brightness: pixel", func(k *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error {
			dst.Height, dst.Width, src.Height, src.Width = 1, dst.Width*(dst.Height-1), 1, src.Width*(src.Height-1)
			dst.Images, src.Images = 1, 1
			return right(k, q, dst, src)
		}},
		{"not the same again", "gave different pixels", func(k *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error {
			run := runs.Add(1)
			if err := right(k, q, dst, src); err != nil {
				return err
			}
			// A pixel between those that are compared with the reference.
			return q.Fill(dst.Pointer+3*(61*17+31), byte(run), 1)
		}},
		{"an error", "the work failed", func(*pixels.Kernels, *gpu.Queue, pixels.Batch, pixels.Batch) error {
			return errors.New("the work failed")
		}},
	} {
		err := onCards(t, e, test.work, 3)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestLargeBatch checks that a batch many times larger than the card's memory is computed, and that
// a stop is noticed between rounds.
func TestLargeBatch(t *testing.T) {
	e := fakeCards(t, "1")
	if e == nil {
		return
	}
	identity := func(_ *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error {
		return q.CopyOver(dst.Pointer, src.Pointer, int64(src.Images*src.Width*src.Height*src.Channels))
	}
	r := testRunner(2)
	r.engine, r.params.Factor, r.params.Offset, r.options.Warmup, r.options.Repeats = e, 1, 0, 0, 1
	op := brightness()
	op.card = func(Params, Shape, Shape) (launch, error) { return identity, nil }
	s := Shape{W: 250, H: 200, Channels: 3} // only one fits into a slot
	src, release, err := e.images(s, 2*(roundChunks+3))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for i, m := range src {
		for at := range m.Pix {
			m.Pix[at] = byte(at*7 + i)
		}
	}
	w := &row{op: op, kernel: Kernel{Name: cardKernel}}
	err = r.operate(t.Context(), w, src, func(dst []Image) error {
		if checksum(0, dst) != checksum(0, src) {
			t.Error("images were mixed up")
		}
		return nil
	})
	if err != nil || w.cards.shares[0][1].Kernel <= 0 || len(w.cards.alone) != 1 {
		t.Errorf("%v, %+v", err, w.cards)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	launches := 0
	op.card = func(Params, Shape, Shape) (launch, error) {
		return func(k *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error {
			launches++
			cancel(errors.New("terminated signal received"))
			return identity(k, q, dst, src)
		}, nil
	}
	r.engine = e.alone(2)
	clear(e.launches)
	err = r.operate(ctx, &row{op: op, kernel: Kernel{Name: cardKernel}}, src, unused)
	if err == nil || !strings.Contains(err.Error(), "terminated signal received") || launches > roundChunks {
		t.Errorf("%d launches, %v", launches, err)
	}
}

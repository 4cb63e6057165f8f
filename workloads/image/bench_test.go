package image

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/measure"
)

func testRunner(threads int) runner {
	return runner{
		params:  Params{Sigma: 1.5, Scale: 0.6, Factor: 1.2, Offset: 10, Mean: 0.4, Deviation: 0.3},
		options: measure.Options{Threads: threads, Repeats: 2, Warmup: 1, Seed: 1},
	}
}

func testImages(t *testing.T, n int, s Shape) []Image {
	t.Helper()
	all := make([]Image, n)
	for i := range all {
		var err error
		if all[i], err = generate(t.Context(), s, 1, uint64(i), 2); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// The pixels, and so the checksum, are the same for any number of threads and
// for any kernel.
func TestThreadsDoNotChangePixels(t *testing.T) {
	src := testImages(t, 3, Shape{W: 31, H: 103, Channels: 3})
	for _, op := range Operations() {
		sums := map[uint32]bool{}
		for _, kernel := range kernelNames() {
			for _, threads := range []int{1, 2, 3, 16} {
				w := newRow(op, kernel)
				if _, err := testRunner(threads).operate(t.Context(), w, src); err != nil {
					t.Fatal(err)
				}
				sums[w.sum] = true
			}
		}
		if len(sums) != 1 {
			t.Errorf("%s: %d different checksums", op.Name, len(sums))
		}
	}
}

func TestGenerate(t *testing.T) {
	sums := map[uint32]string{}
	for _, size := range []Shape{{W: 1, H: 1, Channels: 3}, {W: 7, H: 3, Channels: 3}, {W: 130, H: 200, Channels: 3}} {
		for number := range uint64(2) {
			one, err := generate(t.Context(), size, 1, number, 1)
			if err != nil {
				t.Fatal(err)
			}
			many, err := generate(t.Context(), size, 1, number, 7)
			if err != nil {
				t.Fatal(err)
			}
			if checksum(0, []Image{one}) != checksum(0, []Image{many}) {
				t.Errorf("%v: threads change the image", size)
			}
			sums[checksum(0, []Image{one})] = size.String()
		}
	}
	if len(sums) < 5 {
		t.Errorf("images repeat: %v", sums)
	}
}

func TestRowAddsUp(t *testing.T) {
	w := newRow(sobel(), "go")
	w.add(Shape{W: 10, H: 20, Channels: 3}, 1, []float64{1, 2}, 5)
	if r := w.result(Params{}); r.Size != "10x20" || r.Width != 10 || r.Batch != 1 {
		t.Errorf("got %+v", r)
	}
	w.add(Shape{W: 30, H: 10, Channels: 3}, 2, []float64{2, 3}, 6)
	r := w.result(Params{})
	if r.Size != "mixed sizes" || r.Width != 0 || r.Batch != 3 || r.Median != 4 || r.MPixels != 800.0/4/1e6 || r.Checksum != "crc32c:00000006" {
		t.Errorf("got %+v", r)
	}
}

// A kernel that gets one pixel wrong, that skips its last row, or that gives
// other pixels in every run must not get a time.
func TestWrongKernelHasNoTime(t *testing.T) {
	right := mapRows(brightnessTable(testRunner(1).params))
	runs := byte(0)
	for _, test := range []struct {
		name  string
		wrong rows
		size  Shape
	}{
		{"one sample", func(dst, src Image, low, high int) { right(dst, src, low, high); dst.Row(low)[0]++ }, Shape{W: 9, H: 7, Channels: 3}},
		{"last row", func(dst, src Image, low, high int) { right(dst, src, low, min(high, dst.H-1)) }, Shape{W: 90, H: 70, Channels: 3}},
		{"last column", func(dst, src Image, low, high int) {
			right(dst, src, low, high)
			for y := low; y < high; y++ {
				dst.Row(y)[3*dst.W-1] = 77
			}
		}, Shape{W: 90, H: 70, Channels: 3}},
		{"nothing", func(Image, Image, int, int) {}, Shape{W: 40, H: 40, Channels: 3}},
	} {
		op := brightness()
		op.kernels = []Kernel{{"go", func(Params, Shape, Shape) rows { return test.wrong }}}
		w := newRow(op, "go")
		_, err := testRunner(1).operate(t.Context(), w, testImages(t, 1, test.size))
		if err == nil || !strings.Contains(err.Error(), "verify brightness: ") || w.seconds != nil {
			t.Errorf("%s: got %v, %v", test.name, w.seconds, err)
		}
	}
	unsteady := gaussianBlur()
	unsteady.kernels = []Kernel{{"go", func(p Params, to, from Shape) rows {
		compute := gaussianBlur().kernels[0].prepare(p, to, from)
		return func(dst, src Image, low, high int) {
			compute(dst, src, low, high)
			runs++
			dst.Pix[0] ^= runs & 1
		}
	}}}
	_, err := testRunner(1).operate(t.Context(), newRow(unsteady, "go"), testImages(t, 1, Shape{W: 5, H: 5, Channels: 3}))
	if err == nil {
		t.Error("unsteady pixels were not found")
	}
}

func TestOperateStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("terminated signal received"))
	_, err := testRunner(2).operate(ctx, newRow(sobel(), "go"), []Image{New(Shape{W: 50, H: 50, Channels: 3})})
	if err == nil || !strings.Contains(err.Error(), "terminated signal received") {
		t.Errorf("got %v", err)
	}
}

func TestNewRowFallsBack(t *testing.T) {
	if w := newRow(sobel(), "other"); w.kernel.Name != sobel().kernels[0].Name {
		t.Errorf("got %q", w.kernel.Name)
	}
}

package image

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/measure"
)

func testRunner(threads int) runner {
	return runner{
		params:  Params{Sigma: 1.5, Scale: 0.6, Factor: 1.2, Offset: 10, Mean: 0.4, Deviation: 0.3},
		options: measure.Options{Threads: threads, Repeats: 2, Warmup: 1, Seed: 1},
		engine:  processor{threads: threads, warmup: 1},
	}
}

// testRow is a row of the operation's kernel of that name.
func testRow(t *testing.T, op Operation, kernel string) *row {
	t.Helper()
	k, ok := op.find(kernel)
	if !ok {
		t.Fatalf("%s has no kernel %s", op.Name, kernel)
	}
	return &row{op: op, kernel: k}
}

// unused ignores the outputs.
func unused([]Image) error { return nil }

func testImages(t *testing.T, n int, s Shape) []Image {
	t.Helper()
	all := make([]Image, n)
	for i := range all {
		all[i] = New(s)
		if err := generate(t.Context(), all[i], 1, uint64(i), 2); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestThreadsDoNotChangePixels checks that the pixels, and so the checksum, are the same for any
// number of threads and for any kernel.
func TestThreadsDoNotChangePixels(t *testing.T) {
	src := testImages(t, 3, Shape{W: 31, H: 103, Channels: 3})
	for _, op := range Operations() {
		sums := map[uint32]bool{}
		for _, kernel := range op.kernels {
			for _, threads := range []int{1, 2, 3, 16} {
				w := testRow(t, op, kernel.Name)
				if err := testRunner(threads).operate(t.Context(), w, src, unused); err != nil {
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
			one, many := New(size), New(size)
			if err := generate(t.Context(), one, 1, number, 1); err != nil {
				t.Fatal(err)
			}
			if err := generate(t.Context(), many, 1, number, 7); err != nil {
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
	w := testRow(t, sobel(), "go")
	add := func(images int, s Shape, times measure.Times, sum uint32) {
		src := slices.Repeat([]Image{New(s)}, images)
		w.add(src, src, times, sum)
	}
	add(1, Shape{W: 10, H: 20, Channels: 3}, measure.Times{First: 4, Seconds: []float64{1, 2}}, 5)
	if r := w.result(Params{}); r.Size != "10x20" || r.Width != 10 || r.Batch != 1 {
		t.Errorf("got %+v", r)
	}
	add(2, Shape{W: 30, H: 10, Channels: 3}, measure.Times{First: 5, Seconds: []float64{2, 3}}, 6)
	r := w.result(Params{})
	if r.Size != "mixed sizes" || r.Width != 0 || r.Batch != 3 || r.Median != 4 || r.FirstCall != 9 || r.MPixels != 800.0/4/1e6 || r.Checksum != "crc32c:00000006" || w.bytes != 2*800*3 {
		t.Errorf("got %+v", r)
	}
}

// TestWrongKernelHasNoTime checks that no time is printed for a kernel that gets one pixel wrong,
// skips its last row, or gives other pixels in every run.
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
		op.kernels = []Kernel{{Name: "go", prepare: func(Params, Shape, Shape) rows { return test.wrong }}}
		w := testRow(t, op, "go")
		err := testRunner(1).operate(t.Context(), w, testImages(t, 1, test.size), unused)
		if err == nil || !strings.Contains(err.Error(), "verify brightness: ") || w.times.Seconds != nil {
			t.Errorf("%s: got %v, %v", test.name, w.times.Seconds, err)
		}
	}
	unsteady := gaussianBlur()
	unsteady.kernels = []Kernel{{Name: "go", prepare: func(p Params, to, from Shape) rows {
		compute := gaussianBlur().kernels[0].prepare(p, to, from)
		return func(dst, src Image, low, high int) {
			compute(dst, src, low, high)
			runs++
			dst.Pix[0] ^= runs & 1
		}
	}}}
	err := testRunner(1).operate(t.Context(), testRow(t, unsteady, "go"), testImages(t, 1, Shape{W: 5, H: 5, Channels: 3}), unused)
	if err == nil {
		t.Error("unsteady pixels were not found")
	}
}

func TestOperateStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("terminated signal received"))
	err := testRunner(2).operate(ctx, testRow(t, sobel(), "go"), []Image{New(Shape{W: 50, H: 50, Channels: 3})}, unused)
	if err == nil || !strings.Contains(err.Error(), "terminated signal received") {
		t.Errorf("got %v", err)
	}
}

// TestBands checks that bands have no gaps and become shorter, and that none delays a stop for
// long.
func TestBands(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 64, 103, 4096, 65535, 260_000} {
		for _, threads := range []int{1, 2, 3, 16, 200} {
			bounds := bands(n, threads)
			if bounds[0] != 0 || bounds[len(bounds)-1] != n {
				t.Errorf("%d rows on %d: from %d to %d", n, threads, bounds[0], bounds[len(bounds)-1])
			}
			before := 512
			for i, high := range bounds[1:] {
				rows := high - bounds[i]
				if rows < 1 || rows > before {
					t.Errorf("%d rows on %d: band %d has %d rows, the one before %d", n, threads, i, rows, before)
				}
				before = rows
			}
		}
	}
}

// TestCopyBandwidthBindsCopies checks that copy bandwidth is a hard limit of an operation that
// reads as much as it writes, and a soft one of an operation that reads four times as much.
func TestCopyBandwidthBindsCopies(t *testing.T) {
	whole, half := Shape{W: 10, H: 20, Channels: 3}, Shape{W: 5, H: 10, Channels: 3}
	for _, test := range []struct {
		dst        Shape
		exceedable bool
		doubt      string
	}{{whole, false, "120 % of the copy bandwidth"}, {half, true, ""}} {
		w := testRow(t, sobel(), "go")
		w.add([]Image{New(whole)}, []Image{New(test.dst)}, measure.Times{Seconds: []float64{1, 1}}, 5)
		w.copied = [copyWays][]float64{{1.2, 1.2}}
		r := w.result(Params{})
		if len(r.Ceilings) != 1 || r.Ceilings[0].Exceedable != test.exceedable || r.Doubt() != test.doubt {
			t.Errorf("to %v: %+v, %q", test.dst, r.Ceilings, r.Doubt())
		}
	}
}

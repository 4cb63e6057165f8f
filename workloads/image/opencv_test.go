//go:build opencv

package image

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/image/opencv"
	"github.com/batchctl/batchctl/workloads/measure"
)

// stripes are edges in both directions, where errors of weights do not cancel.
func stripes(s Shape) Image {
	m := New(s)
	for y := range m.H {
		row := m.Row(y)
		for i := range row {
			row[i] = byte(255 * ((i/3/7 + y/5) % 2))
		}
	}
	return m
}

// TestOpenCV checks that OpenCV gives the reference values, within the documented tolerance, on
// every pixel of odd and even sizes, padded rows, and any number of threads.
func TestOpenCV(t *testing.T) {
	sources := []Image{
		randomImage(Shape{W: 101, H: 75, Channels: 3}, 4, 5), stripes(Shape{W: 100, H: 76, Channels: 3}), stripes(Shape{W: 1, H: 33, Channels: 3}),
		randomImage(Shape{W: 33, H: 1, Channels: 3}, 0, 6), testImages(t, 1, Shape{W: 90, H: 80, Channels: 3})[0],
	}
	for _, op := range Operations() {
		k, ok := op.find("opencv")
		if ok != (op.Name != "resize-lanczos") {
			t.Errorf("%s: OpenCV has it is %v", op.Name, ok)
		}
		if !ok {
			continue
		}
		for _, v := range []float64{0.1, 0.5, 2, 6} {
			p := Params{Sigma: v, Scale: 0.3 + v/3, Factor: 0.2 + v/2, Offset: 10 - 10.3*v, Mean: v / 4, Deviation: v}
			for _, src := range sources {
				dst := randomImage(op.output(p, src.Shape), 4, 1)
				if err := k.whole(p, 1, dst, src); err != nil {
					t.Fatal(err)
				}
				compareWithin(t, op, op.allowed(k, p), p, dst, src)
				again := randomImage(dst.Shape, 0, 2)
				if err := k.whole(p, 3, again, src); err != nil {
					t.Fatal(err)
				}
				for y := range dst.H {
					if !bytes.Equal(dst.Row(y), again.Row(y)) {
						t.Fatalf("%s: row %d depends on the threads", op.Name, y)
					}
				}
			}
		}
	}
}

// TestOpenCVTolerance checks that OpenCV, an independent reference, differs by about as much as the
// tolerances allow.
func TestOpenCVTolerance(t *testing.T) {
	p := Params{Sigma: 20, Scale: 1.7, Factor: 1.5, Offset: 10, Mean: 0.5, Deviation: 0.25}
	src := randomImage(Shape{W: 203, H: 151, Channels: 3}, 0, 5)
	for name, least := range map[string]float64{"gaussian-blur": 1.5, "sobel": 8, "resize-bilinear": 0.6, "brightness": 0.9} {
		for _, op := range Operations() {
			if op.Name != name {
				continue
			}
			k, _ := op.find("opencv")
			dst := New(op.output(p, src.Shape))
			if err := k.whole(p, 2, dst, src); err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i := range dst.W * dst.H {
				x, y, c := i%dst.W, i/dst.W, i%dst.Channels
				if name != "gaussian-blur" || i%5 == 0 {
					worst = max(worst, math.Abs(dst.value(x, y, c)-op.reference(p, dst.Shape, src, x, y, c)))
				}
			}
			t.Logf("%s is up to %.2f away, %v allowed", name, worst, op.allowed(k, p))
			if worst < least {
				t.Errorf("%s is within %v of the reference: allow less than %v", name, worst, op.allowed(k, p))
			}
		}
	}
}

func TestRunOpenCV(t *testing.T) {
	out, _, err := run(t, "--kernel", "opencv", "--sizes", "65", "--batch", "2", "--format", "json")
	if err != nil {
		t.Fatal(err)
	}
	all := results(t, out)
	if len(all) != len(Operations())-1 {
		t.Fatalf("got %d rows", len(all))
	}
	for _, r := range all {
		if r.Kernel != "opencv-"+opencv.Version() || r.Exact != (r.Operation == "resize-half") || !r.Verified {
			t.Errorf("got %+v", r)
		}
	}
	_, _, err = run(t, "--kernel", "opencv", "--operations", "resize-lanczos")
	var usage *measure.UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "--kernel opencv has no resize-lanczos") {
		t.Errorf("got %v", err)
	}
}

// TestOpenCVErrors checks that an exception of OpenCV becomes an error and does not end the
// process.
func TestOpenCVErrors(t *testing.T) {
	grey := opencv.Image{Pix: make([]byte, 4), Width: 2, Height: 2, Channels: 1, Stride: 2}
	if err := opencv.Sobel(grey, grey, 1); err == nil || !strings.Contains(err.Error(), "OpenCV") {
		t.Errorf("got %v", err)
	}
}

package image

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// randomImage has noise for pixels, and rows with a gap after them when gap > 0.
func randomImage(s Shape, gap int, seed uint64) Image {
	stride := s.rowBytes() + gap
	m := Image{Shape: s, Stride: stride, Pix: make([]byte, s.H*stride)}
	rng := rand.New(rand.NewPCG(seed, 3))
	for i := range m.Pix {
		m.Pix[i] = byte(rng.Uint32())
	}
	return m
}

func drawParams(t *rapid.T) Params {
	return Params{
		Sigma: rapid.Float64Range(0.1, 4).Draw(t, "sigma"), Scale: rapid.Float64Range(0.1, 4).Draw(t, "scale"),
		Width: rapid.IntRange(0, 20).Draw(t, "width"), Height: rapid.IntRange(0, 20).Draw(t, "height"),
		Factor: rapid.Float64Range(0, 3).Draw(t, "factor"), Offset: rapid.Float64Range(-300, 300).Draw(t, "offset"),
		Mean: rapid.Float64Range(-1, 2).Draw(t, "mean"), Deviation: rapid.Float64Range(0.01, 3).Draw(t, "deviation"),
	}
}

// TestKernelsAgainstReference checks every kernel on odd sizes, one-pixel images and padded rows,
// in bands of any height: it is within the tolerance of its reference, and writes nothing after its
// rows.
func TestKernelsAgainstReference(t *testing.T) {
	for _, op := range Operations() {
		for _, kernel := range op.kernels {
			t.Run(op.Name+"/"+kernel.Name, rapid.MakeCheck(func(t *rapid.T) {
				size, gap := rapid.IntRange(1, 24), rapid.IntRange(0, 5)
				src := randomImage(Shape{W: size.Draw(t, "w"), H: size.Draw(t, "h"), Channels: 3}, gap.Draw(t, "gap in"), rapid.Uint64().Draw(t, "seed"))
				p := drawParams(t)
				dst := randomImage(op.output(p, src.Shape), gap.Draw(t, "gap out"), 1)
				before := append([]byte(nil), dst.Pix...)
				compute := kernel.prepare(p, dst.Shape, src.Shape)
				for low := 0; low < dst.H; {
					high := rapid.IntRange(low+1, dst.H).Draw(t, "band")
					compute(dst, src, low, high)
					low = high
				}
				compareAll(t, op, p, dst, src)
				for i, v := range dst.Pix {
					if i%dst.Stride >= dst.rowBytes() && v != before[i] {
						t.Fatalf("wrote byte %d, after a row", i)
					}
				}
			}))
		}
	}
}

// fataler is the methods that rapid.T and testing.T share.
type fataler interface{ Fatal(...any) }

func compareAll(t fataler, op Operation, p Params, dst, src Image) {
	compareWithin(t, op, op.allowed(Kernel{}, p), p, dst, src)
}

func compareWithin(t fataler, op Operation, tolerance float64, p Params, dst, src Image) {
	var all []sample
	for y := range dst.H {
		for x := range dst.W {
			for c := range dst.Channels {
				all = append(all, sample{x, y, c, op.reference(p, dst.Shape, src, x, y, c)})
			}
		}
	}
	if err := op.check(tolerance, dst, all); err != nil {
		t.Fatal(err)
	}
}

// TestGaussianPrecision checks that no blurred sample is more than one level from the rounded
// float64 reference, and that no more are one level away than the rounding of each product
// explains.
func TestGaussianPrecision(t *testing.T) {
	op := gaussianBlur() // all kernels give the same pixels, see TestKernelsAgree
	src := randomImage(Shape{W: 120, H: 90, Channels: 3}, 0, 5)
	for _, sigma := range []float64{0.5, 1, 2, 5, maxSigma} {
		p := Params{Sigma: sigma}
		dst := New(src.Shape)
		op.kernels[0].prepare(p, dst.Shape, src.Shape)(dst, src, 0, dst.H)
		differ, all := 0, 0
		for y := range dst.H {
			for x := y % 5; x < dst.W; x += 5 {
				got, want := dst.at(x, y, x%3), int(level(op.reference(p, dst.Shape, src, x, y, x%3)))
				if max(got-want, want-got) > 1 {
					t.Errorf("sigma %v: (%d, %d) is %d, want %d", sigma, x, y, got, want)
				}
				if got != want {
					differ++
				}
				all++
			}
		}
		t.Logf("sigma %v: %.2f %% differ by one level", sigma, 100*float64(differ)/float64(all))
		limit := 0.01
		if sigma > 5 {
			limit = 0.02 // 121 products that are rounded
		}
		if float64(differ) > limit*float64(all) {
			t.Errorf("sigma %v: %d of %d samples differ", sigma, differ, all)
		}
	}
}

func TestGaussianWeights(t *testing.T) {
	for sigma := 0.1; sigma <= maxSigma; sigma *= 1.07 {
		weights := gaussianWeights(sigma)
		sum := 0
		for i, w := range weights {
			sum += 2 * int(w)
			if i > 1 && w > weights[i-1] || w < 0 {
				t.Errorf("sigma %v: weight %d is %d", sigma, i, w)
			}
		}
		if sum != 1<<weightBits || len(weights) > gaussianRadius(sigma)+1 {
			t.Errorf("sigma %v: sum %d, %d weights", sigma, sum, len(weights))
		}
	}
}

// TestFlatImages checks that a flat image stays flat under every operation, also at the brightest
// level, where an overflow would show.
func TestFlatImages(t *testing.T) {
	p := Params{Sigma: 5, Scale: 1.7, Factor: 1, Deviation: 1}
	for _, value := range []byte{0, 1, 128, 255} {
		src := New(Shape{W: 37, H: 29, Channels: 3})
		for i := range src.Pix {
			src.Pix[i] = value
		}
		for _, op := range Operations() {
			want := float64(value)
			switch op.Name {
			case "sobel":
				want = 0
			case "normalise":
				want = float64(float32(want * float64(float32(1)/255)))
			}
			for _, kernel := range op.kernels {
				dst := New(op.output(p, src.Shape))
				kernel.prepare(p, dst.Shape, src.Shape)(dst, src, 0, dst.H)
				for i := range dst.W * dst.H {
					if v := dst.value(i%dst.W, i/dst.W, 0); v != want {
						t.Errorf("%s/%s of %d: pixel %d is %v", op.Name, kernel.Name, value, i, v)
						break
					}
				}
			}
		}
	}
}

// TestByHand checks examples that were computed by hand.
func TestByHand(t *testing.T) {
	grey := func(w int, values ...byte) Image {
		m := New(Shape{W: w, H: len(values) / w, Channels: 3})
		for i, v := range values {
			m.Pix[3*i], m.Pix[3*i+1], m.Pix[3*i+2] = v, v, v
		}
		return m
	}
	for _, test := range []struct {
		op     Operation
		params Params
		src    Image
		want   []byte
	}{
		{resizeHalf(), Params{}, grey(2, 1, 2, 3, 4), []byte{3}},                         // 10/4 rounds up
		{resizeHalf(), Params{}, grey(3, 1, 2, 9, 3, 4, 9, 5, 7, 8), []byte{3, 9, 6, 8}}, // the border repeats
		{resizeBilinear(), Params{Scale: 2}, grey(2, 0, 100), []byte{0, 25, 75, 100, 0, 25, 75, 100}},
		{resizeBilinear(), Params{Width: 1}, grey(2, 0, 100), []byte{50}},
		{brightness(), Params{Factor: 2, Offset: -10}, grey(4, 0, 5, 100, 200), []byte{0, 0, 190, 255}},
		{brightness(), Params{Factor: 0.5}, grey(2, 1, 3), []byte{1, 2}},
		{sobel(), Params{}, grey(3, 0, 0, 10, 0, 0, 10, 0, 0, 10), []byte{0, 40, 40, 0, 40, 40, 0, 40, 40}},
		{sobel(), Params{}, grey(2, 0, 255, 0, 255), []byte{255, 255, 255, 255}},
		{gaussianBlur(), Params{Sigma: 0.1}, grey(3, 7, 200, 9), []byte{7, 200, 9}},
	} {
		for _, kernel := range test.op.kernels {
			dst := New(test.op.output(test.params, test.src.Shape))
			kernel.prepare(test.params, dst.Shape, test.src.Shape)(dst, test.src, 0, dst.H)
			for i, want := range test.want {
				if got := dst.Pix[i*dst.Channels]; got != want {
					t.Errorf("%s/%s %+v: pixel %d is %d, want %d", test.op.Name, kernel.Name, test.params, i, got, want)
				}
			}
		}
	}
}

// TestStrongReductions checks reductions around the most taps of fixed point; stronger ones are
// computed in float64.
func TestStrongReductions(t *testing.T) {
	src := randomImage(Shape{W: 2000, H: 3, Channels: 3}, 0, 7)
	for y := range src.H {
		for i, row := 0, src.Row(y); i < len(row)/2; i++ {
			row[i] = byte(255 * (i / 9 % 2)) // stripes, whose errors of rounding do not cancel
		}
	}
	for _, width := range []int{1, 20, 92, 93, 94, 95, 96, 200} {
		p := Params{Width: width, Height: 3}
		for _, op := range []Operation{resizeBilinear(), resizeLanczos()} {
			for _, kernel := range op.kernels {
				dst := New(op.output(p, src.Shape))
				kernel.prepare(p, dst.Shape, src.Shape)(dst, src, 0, dst.H)
				compareAll(t, op, p, dst, src)
			}
		}
	}
}

func TestLumaWeights(t *testing.T) {
	if lumaRed+lumaGreen+lumaBlue != 256 {
		t.Error("white would not stay white")
	}
}

func TestBilinearShape(t *testing.T) {
	for _, test := range []struct {
		params Params
		want   Shape
	}{
		{Params{Scale: 0.5}, Shape{W: 320, H: 240, Channels: 3}},
		{Params{Scale: 0.0001}, Shape{W: 1, H: 1, Channels: 3}},
		{Params{Scale: 2, Width: 64}, Shape{W: 64, H: 48, Channels: 3}},
		{Params{Height: 100}, Shape{W: 133, H: 100, Channels: 3}},
		{Params{Width: 10, Height: 20}, Shape{W: 10, H: 20, Channels: 3}},
	} {
		if got := resizedShape(test.params, Shape{W: 640, H: 480, Channels: 3}); got != test.want {
			t.Errorf("%+v: got %v", test.params, got)
		}
	}
}

// TestResizeIdentity checks that a resize to the same size keeps the pixels.
func TestResizeIdentity(t *testing.T) {
	for n := 1; n < 300; n += 7 {
		for name, f := range map[string]filter{"bilinear": bilinearTaps(n, n), "lanczos": lanczosTaps(n, n)} {
			weights, bits := f.fixed(15, math.MaxInt16)
			for i, first := range f.first {
				for k, w := range weights[i*f.taps:][:f.taps] {
					if want := map[bool]int32{true: 1 << bits}[first+k == i]; w != want {
						t.Fatalf("%s: %d of %d reads %d with weight %d", name, i, n, first+k, w)
					}
				}
			}
		}
	}
}

func TestLevel(t *testing.T) {
	for v, want := range map[float64]byte{-5: 0, -0.5: 0, 0.49: 0, 0.5: 1, 254.5: 255, 255.4: 255, 1e9: 255, math.Inf(-1): 0} {
		if got := level(v); got != want {
			t.Errorf("level(%v) = %d, want %d", v, got, want)
		}
	}
}

func BenchmarkKernels(b *testing.B) {
	src := randomImage(Shape{W: 1024, H: 1024, Channels: 3}, 0, 1)
	p := Params{Sigma: 2, Scale: 0.75, Factor: 1.2, Offset: 10}
	for _, op := range Operations() {
		for _, kernel := range op.kernels {
			b.Run(fmt.Sprintf("%s/%s", op.Name, kernel.Name), func(b *testing.B) {
				dst := New(op.output(p, src.Shape))
				compute := kernel.prepare(p, dst.Shape, src.Shape)
				for b.Loop() {
					compute(dst, src, 0, dst.H)
				}
				b.ReportMetric(float64(src.W*src.H)*float64(b.N)/b.Elapsed().Seconds()/1e6, "MPixel/s")
			})
		}
	}
}

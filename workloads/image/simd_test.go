package image

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// guarded is an image inside noise: its rows begin at any byte, and the noise must not change.
type guarded struct {
	Image
	all, before []byte
}

func drawGuarded(t *rapid.T, name string, s Shape) guarded {
	offset, gap := rapid.IntRange(0, 70).Draw(t, name+" offset"), rapid.SampledFrom([]int{0, 1, 7, 64}).Draw(t, name+" gap")
	stride := s.rowBytes() + gap
	around := randomImage(Shape{W: offset + s.H*stride + 130, H: 1, Channels: 1}, 0, rapid.Uint64().Draw(t, name+" noise"))
	g := guarded{all: around.Pix, before: bytes.Clone(around.Pix)}
	end := offset + (s.H-1)*stride + s.rowBytes() // the last row has no gap after it
	g.Image = Image{Shape: s, Stride: stride, Pix: around.Pix[offset:end:end]}
	return g
}

// wrote is an error if a byte outside the rows has changed.
func (g guarded) wrote() error {
	offset := 0
	for i := range g.all {
		if &g.all[i] == &g.Pix[0] {
			offset = i
			break
		}
	}
	for i, v := range g.all {
		inside := i >= offset && i < offset+len(g.Pix) && (i-offset)%g.Stride < g.rowBytes()
		if !inside && v != g.before[i] {
			return fmt.Errorf("wrote byte %d; the view begins at %d", i, offset)
		}
	}
	return nil
}

// TestKernelsAgree checks that every kernel gives the pixels of the portable one, wherever rows
// begin and end, and in bands of any height.
func TestKernelsAgree(t *testing.T) {
	for _, op := range Operations() {
		portable := op.kernels[len(op.kernels)-1]
		for _, kernel := range op.kernels[:len(op.kernels)-1] {
			t.Run(op.Name+"/"+kernel.Name, rapid.MakeCheck(func(t *rapid.T) {
				p := drawParams(t)
				p.Sigma = rapid.Float64Range(0.1, maxSigma).Draw(t, "wide sigma")
				p.Width, p.Height = rapid.IntRange(0, 90).Draw(t, "out w"), rapid.IntRange(0, 20).Draw(t, "out h")
				s := Shape{W: rapid.IntRange(1, 180).Draw(t, "w"), H: rapid.IntRange(1, 20).Draw(t, "h"), Channels: 3}
				if rapid.IntRange(0, 7).Draw(t, "wide") == 0 { // more than one tile
					s = Shape{W: rapid.IntRange(500, 3300).Draw(t, "w"), H: rapid.IntRange(1, 6).Draw(t, "h"), Channels: 3}
				}
				src, dst := drawGuarded(t, "in", s), drawGuarded(t, "out", op.output(p, s))
				want := New(dst.Shape)
				portable.prepare(p, dst.Shape, s)(want, src.Image, 0, want.H)
				compute := kernel.prepare(p, dst.Shape, s)
				for low := 0; low < dst.H; {
					high := rapid.IntRange(low+1, dst.H).Draw(t, "band")
					compute(dst.Image, src.Image, low, high)
					low = high
				}
				for y := range dst.H {
					if got := dst.Row(y); !bytes.Equal(got, want.Row(y)) {
						t.Fatalf("row %d is %v, want %v", y, got, want.Row(y))
					}
				}
				if err := dst.wrote(); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(src.all, src.before) {
					t.Fatal("wrote the input")
				}
			}))
		}
	}
}

// TestStreams checks that large images, which are stored past the caches, have the same pixels.
func TestStreams(t *testing.T) {
	p := Params{Factor: 1.3, Offset: -7, Mean: 0.4, Deviation: 0.2}
	noise := randomImage(Shape{W: 13 << 20, H: 1, Channels: 1}, 0, 3).Pix
	for _, test := range []struct {
		op    Operation
		width int
	}{{brightness(), 1401}, {normalise(), 351}, {resizeHalf(), 2080}, {resizeHalf(), 2071}, {sobel(), 4224}, {sobel(), 4250}} {
		op, s := test.op, Shape{W: test.width, H: 1000, Channels: 3}
		src := Image{Shape: s, Stride: s.rowBytes(), Pix: noise[:s.Bytes()]}
		to := op.output(p, s)
		if max(to.Bytes(), s.Bytes()) < streamFrom {
			t.Fatalf("%v is not large", to)
		}
		last := len(op.kernels) - 1
		want := New(to)
		op.kernels[last].prepare(p, to, s)(want, src, 0, to.H)
		for _, k := range op.kernels[:last] {
			for _, offset := range []int{0, 1, 4} {
				around := bytes.Clone(noise)
				end := offset + int(to.Bytes())
				dst := Image{Shape: to, Stride: to.rowBytes(), Pix: around[offset:end]}
				k.prepare(p, to, s)(dst, src, 0, to.H)
				if !bytes.Equal(dst.Pix, want.Pix) || !bytes.Equal(noise[:offset], around[:offset]) || !bytes.Equal(noise[end:], around[end:]) {
					t.Errorf("%s/%s at %d: other bytes", op.Name, k.Name, offset)
				}
			}
		}
	}
}

// Any factor and offset must give the table of the exact definition.
func FuzzBrightness(f *testing.F) {
	f.Add(1.2, 10.0)
	f.Add(0.5, 0.0)
	f.Add(1.1, -0.5)
	f.Add(0.1, 254.5)
	f.Fuzz(func(t *testing.T, factor, offset float64) {
		if !(factor >= 0 && factor <= 1000 && offset >= -1000 && offset <= 1000) {
			t.Skip()
		}
		src := New(Shape{W: 256, H: 1, Channels: 3})
		for i := range src.Pix {
			src.Pix[i] = byte(i)
		}
		p := Params{Factor: factor, Offset: offset}
		op := brightness()
		for _, k := range op.kernels {
			dst := New(src.Shape)
			k.prepare(p, dst.Shape, src.Shape)(dst, src, 0, 1)
			compareAll(t, op, p, dst, src)
		}
	})
}

// TestBrightnessHasKernels checks that almost every factor and offset has a kernel; the others use
// the table.
func TestBrightnessHasKernels(t *testing.T) {
	for _, v := range instructionSets() {
		missing, all := 0, 0
		for factor := 5.0; factor <= 300; factor += 5 {
			for offset := -100.0; offset <= 100; offset += 10 {
				p := Params{Factor: factor / 100, Offset: offset}
				_, ok := v.brightness(p, brightnessTable(p))
				all++
				if !ok {
					missing++
				}
			}
		}
		if missing*10 > all {
			t.Errorf("%s: %d of %d have no kernel", v.name, missing, all)
		}
	}
}

// TestPointwiseHasKernels checks that the default parameters have each kind of kernel. A wrong
// kernel would only be skipped.
func TestPointwiseHasKernels(t *testing.T) {
	var ramp, got [256]byte
	for i := range ramp {
		ramp[i] = byte(i)
	}
	p := Params{Factor: 1.2, Offset: 10, Mean: 0.5, Deviation: 0.25}
	want := brightnessTable(p)
	for _, v := range instructionSets() {
		kinds := append(v.inWords(p, want), inFloats(v.scale, v.scaleStream, 1, float32(p.Factor), float32(p.Offset+0.5)))
		if len(kinds) != 2 {
			t.Errorf("%s: no 16-bit kernel", v.name)
		}
		for i, f := range kinds {
			if f.plain(&got[0], &ramp[0], len(ramp)); got != *want {
				t.Errorf("%s: kind %d is not the table: %d", v.name, i, got)
			}
		}
		if _, ok := v.normalise(p, normaliseTable(p)); !ok {
			t.Errorf("%s: no kernel normalises", v.name)
		}
	}
}

// TestTiles checks that an image wider than a kernel's tile has the pixels of the portable kernel.
func TestTiles(t *testing.T) {
	for _, op := range []Operation{sobel(), gaussianBlur()} {
		for _, kernel := range op.kernels {
			for i, s := range []Shape{{W: 4096, H: 3}, {W: 4097, H: 1}, {W: 4200, H: 2}, {W: 8192, H: 4}, {W: 8500, H: 2}, {W: 12345, H: 3}} {
				s.Channels = 3
				p := Params{Sigma: []float64{0.5, 2, 5}[i%3]}
				src := randomImage(s, 0, uint64(i))
				got, want := New(op.output(p, s)), New(op.output(p, s))
				kernel.prepare(p, got.Shape, s)(got, src, 0, s.H)
				op.kernels[len(op.kernels)-1].prepare(p, got.Shape, s)(want, src, 0, s.H)
				if !bytes.Equal(got.Pix, want.Pix) {
					t.Errorf("%s by %s of %v has other pixels than the portable kernel's", op.Name, kernel.Name, s)
				}
			}
		}
	}
}

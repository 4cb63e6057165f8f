//go:build linux && (amd64 || arm64)

package pixels

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// shapes are the corners and edges of tiles, and some at random.
func shapes(r *rand.Rand, n, most int) (all [][3]int) {
	all = [][3]int{{1, 1, 1}, {1, 7, 2}, {9, 1, 3}, {2, 2, 5}, {3, 3, 1}, {8, 5, 2}, {16, 3, 2}, {256, 2, 1}, {257, 3, 1}, {264, 9, 2}, {255, 4, 1}, {520, 4, 1}}
	for range n {
		all = append(all, [3]int{1 + r.IntN(most), 1 + r.IntN(40), 1 + r.IntN(5)})
	}
	return all
}

func seeded(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// shift is often none.
func shift(r *rand.Rand) int { return r.IntN(2) * r.IntN(16) }

func TestHalf(t *testing.T) {
	r := seeded(t)
	onCard(t, func(b *bench) {
		for _, s := range append(shapes(r, 30, 600), [3]int{2056, 11, 2}) {
			in := randomPicture(r, s[0], s[1], s[2])
			want := in.half()
			shifts := [2]int{shift(r), shift(r)}
			for range 2 {
				got := b.apply(in, want, 1, shifts, func(dst, src Batch) error { return b.kernels.Half(b.queue, dst, src) })
				b.same(fmt.Sprint("half with shifts ", shifts), in, got, want)
				shifts = [2]int{} // the wide kernel's
			}
		}
	})
}

func TestSobel(t *testing.T) {
	r := seeded(t)
	onCard(t, func(b *bench) {
		for _, s := range shapes(r, 40, 600) {
			in := randomPicture(r, s[0], s[1], s[2])
			want := in.sobel()
			shifts := [2]int{shift(r), shift(r)}
			for range 2 {
				got := b.apply(in, want, 1, shifts, func(dst, src Batch) error { return b.kernels.Sobel(b.queue, dst, src) })
				b.same(fmt.Sprint("sobel with shifts ", shifts), in, got, want)
				shifts = [2]int{} // the wide kernel's
			}
		}
	})
}

// TestSobelRows checks the division of images among warps: what an H200 was measured with, and that
// all rows are computed, by threes with the two around them.
func TestSobelRows(t *testing.T) {
	const resident = 132 * sobelWideWarps
	for _, test := range []struct{ columns, height, want int }{
		{16, 4096, 22}, {64, 4096, 85}, {1, 1, 1}, {1, 9, 7}, {1 << 20, 3, 4}, {4, 1 << 30, 1355737},
	} {
		if got := sobelRows(test.columns, test.height, resident); got != test.want {
			t.Errorf("%d columns of %d rows: %d rows for a warp, want %d", test.columns, test.height, got, test.want)
		}
	}
	for height := range 500 {
		for _, columns := range []int{1, 7, 300, 5000} {
			if rows := sobelRows(columns, height+1, resident); rows < 1 || rows%3 != 1 {
				t.Fatalf("%d columns of %d rows: %d rows for a warp", columns, height+1, rows)
			}
		}
	}
}

func TestTable(t *testing.T) {
	r := seeded(t)
	onCard(t, func(b *bench) {
		for i, s := range shapes(r, 12, 300) {
			in := randomPicture(r, s[0], s[1], s[2])
			if i%2 == 1 { // grey
				in.width, in.channels = in.width*3, 1
			}
			var table [256]byte
			for i := range table {
				table[i] = byte(r.Uint32())
			}
			want := in.table(&table)
			got := b.apply(in, want, 1, [2]int{shift(r), shift(r)}, func(dst, src Batch) error { return b.kernels.Table(b.queue, dst, src, &table) })
			b.same("table", in, got, want)
		}
	})
}

func TestLinear(t *testing.T) {
	r := seeded(t)
	onCard(t, func(b *bench) {
		for _, s := range shapes(r, 12, 300) {
			in := randomPicture(r, s[0], s[1], s[2])
			factor, offset := float32(r.NormFloat64()), float32(r.NormFloat64())
			want := in.linear(factor, offset)
			got := b.apply(in, in, 4, [2]int{4 * r.IntN(2) * r.IntN(4), shift(r)}, func(dst, src Batch) error {
				return b.kernels.Linear(b.queue, dst.Pointer, src, factor, offset)
			})
			for i, w := range want {
				if v := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); v != w {
					t.Fatalf("linear of %v: sample %d is %v, want %v", in, i, v, w)
				}
			}
		}
	})
}

// randomFilter has weights of both signs, the sum of which swings around 1, and begins
// outside here and there. Bits are the most with which everything has room.
func randomFilter(r *rand.Rand, outputs, inputs, taps, mostBits int) Filter {
	f := Filter{Taps: taps, Bits: min(mostBits, 14+bits.Len(uint(taps/2))), First: make([]int32, outputs), Weights: make([]int16, outputs*taps)}
	f.Bits -= r.IntN(min(f.Bits-5, 9))
	for i := range f.First {
		f.First[i] = int32(inputs*i/outputs) - int32(r.IntN(taps+2))
	}
	for i := range f.Weights {
		f.Weights[i] = int16(math.Round(math.Ldexp(2*r.Float64()-0.5, f.Bits) / float64(taps)))
	}
	return f
}

func TestResample(t *testing.T) {
	r := seeded(t)
	onCard(t, func(b *bench) {
		for i, s := range shapes(r, 30, 300) {
			in := randomPicture(r, s[0], s[1], s[2])
			width, height := 1+r.IntN(1+3*s[0]/2), 1+r.IntN(1+3*s[1]/2)
			taps := []int{2, 4, 10, 128}[i%4]
			across := randomFilter(r, width, s[0], taps, 15)
			down := randomFilter(r, height, s[1], []int{2, 6, 14, 128}[i/4%4], 22)
			want := in.resample(across, down)
			for range 2 { // the second finds the filters on the card
				got := b.apply(in, want, 1, [2]int{shift(r), shift(r)}, func(dst, src Batch) error {
					return b.kernels.Resample(b.queue, dst, src, across, down)
				})
				b.same("resample", in, got, want)
			}
		}
	})
}

// TestResampleTiles has outputs whose inputs are far apart, so that tiles become small.
func TestResampleTiles(t *testing.T) {
	r := seeded(t)
	onCard(t, func(b *bench) {
		for _, s := range [][2]int{{9000, 3}, {3000, 100}, {2500, 64}} {
			in := randomPicture(r, s[0], 5, 1)
			across, down := randomFilter(r, s[1], s[0], 2, 15), randomFilter(r, 4, 5, 2, 22)
			for i := range across.First[:2] {
				across.First[i] = int32(r.IntN(s[0]))
			}
			want := in.resample(across, down)
			got := b.apply(in, want, 1, [2]int{}, func(dst, src Batch) error { return b.kernels.Resample(b.queue, dst, src, across, down) })
			b.same("resample", in, got, want)
		}
	})
}

func TestGaussian(t *testing.T) {
	r := seeded(t)
	equal, all := 0, 0
	onCard(t, func(b *bench) {
		blur := func(in picture, sigma float64, radius int) {
			exact := sigmaWeights(sigma, radius)
			weights := make([]float32, len(exact))
			for i, w := range exact {
				weights[i] = float32(w)
			}
			want := in.gaussian(exact)
			got := b.apply(in, in, 1, [2]int{shift(r), shift(r)}, func(dst, src Batch) error { return b.kernels.Gaussian(b.queue, dst, src, weights) })
			for i, v := range got {
				all++
				if float64(v) == math.Floor(want[i]+0.5) {
					equal++
				}
				if math.Abs(float64(v)-want[i]) > 0.6 {
					t.Fatalf("radius %d of %v: x %d y %d channel %d is %d, want %v", radius, in, i/3%in.width, i/3/in.width%in.height, i%3, v, want[i])
				}
			}
		}
		for radius := range mostRadius + 1 {
			in := randomPicture(r, 1+r.IntN(300), 1+r.IntN(30), 1+r.IntN(2))
			blur(in, max(float64(radius)/3, 0.1), radius)
		}
		for i, s := range shapes(r, 6, 300) {
			radius := []int{1, 2, 6, 15, 20}[i%5]
			blur(randomPicture(r, s[0], s[1], s[2]), float64(radius)/3, radius)
		}
		for radius := range 20 { // several steps of eight rows, and several blocks
			blur(randomPicture(r, 12, 70, 1), max(float64(radius)/3, 0.1), radius)
		}
	})
	if float64(equal) < 0.995*float64(all) {
		t.Errorf("%d of %d samples are those of the reference", equal, all)
	}
	t.Logf("%d of %d samples are those of the reference", equal, all)
}

// TestGaussianFlat: no rounding of weights makes a flat image lighter or darker.
func TestGaussianFlat(t *testing.T) {
	onCard(t, func(b *bench) {
		for _, radius := range []int{0, 1, 6, 15, 30} {
			for _, level := range []int{0, 1, 128, 254, 255} {
				in := newPicture(13, 9, 3, 1).fill(func(int, int, int, int) int { return level })
				var weights []float32
				for _, w := range sigmaWeights(max(float64(radius)/3, 0.1), radius) {
					weights = append(weights, float32(w))
				}
				got := b.apply(in, in, 1, [2]int{}, func(dst, src Batch) error { return b.kernels.Gaussian(b.queue, dst, src, weights) })
				b.same(fmt.Sprint("gaussian of radius ", radius), in, got, in)
			}
		}
	})
}

func TestCopyBandwidth(t *testing.T) {
	r := seeded(t)
	onCard(t, func(b *bench) {
		for _, size := range []int{1, 16, 1000, 70001} {
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			src, free := b.send(data, shift(r))
			dst := b.place(size, shift(r))
			rate, err := b.kernels.CopyBandwidth(b.queue, dst.at, src, int64(size))
			must(t, err)
			if got := b.read(dst); string(got) != string(data) || !(rate > 0) || math.IsInf(rate, 0) {
				t.Errorf("%d bytes: %v bytes/s, right: %v", size, rate, string(got) == string(data))
			}
			free()
		}
	})
}

func TestBadInput(t *testing.T) {
	onCard(t, func(b *bench) {
		k, q := b.kernels, b.queue
		good := Batch{1 << 20, 4, 4, 3, 2}
		with := func(change func(b *Batch)) Batch {
			other := good
			change(&other)
			return other
		}
		filter := Filter{2, 14, make([]int32, 4), make([]int16, 8)}
		odd := Filter{3, 14, make([]int32, 4), make([]int16, 12)}
		blur := []float32{0.5, 0.25}
		for _, test := range []struct {
			err  error
			want string
		}{
			{k.Half(q, good, good), "half: the output for 2 images of 4x4 with 3 channels must be 2 images of 2x2 with 3 channels, not 2 images of 4x4 with 3 channels"},
			{k.Sobel(q, good, good), "sobel: the output for"},
			{k.Sobel(q, good, with(func(b *Batch) { b.Channels = 1 })), "want RGB"},
			{k.Table(q, good, with(func(b *Batch) { b.Pointer = 0 }), new([256]byte)), "table: the input: it has no memory"},
			{k.Table(q, with(func(b *Batch) { b.Pointer = 0 }), good, new([256]byte)), "table: the output: it has no memory"},
			{k.Linear(q, 0, good, 1, 0), "linear: the output: it has no memory"},
			{k.Table(q, good, with(func(b *Batch) { b.Width = 0 }), new([256]byte)), "images of 0x4 pixels"},
			{k.Table(q, good, with(func(b *Batch) { b.Channels = 2 }), new([256]byte)), "2 channels: want 1 or 3"},
			{k.Table(q, good, with(func(b *Batch) { b.Images = 0 }), new([256]byte)), "0 images"},
			{k.Gaussian(q, good, good, nil), "gaussian: 0 weights"},
			{k.Gaussian(q, good, good, make([]float32, 66)), "gaussian: 66 weights"},
			{k.Gaussian(q, good, good, []float32{0.5, 0.5}), "sum to 1.5"},
			{k.Gaussian(q, good, good, []float32{2, -0.5}), "weight -0.5"},
			{k.Gaussian(q, good, good, []float32{float32(math.NaN())}), "weight NaN"},
			{k.Gaussian(q, good, good, []float32{0, 0.5004}), "is nearly 0"},
			{k.Gaussian(q, with(func(b *Batch) { b.Width, b.Height, b.Images = 1<<20, 1<<20, 1<<20 }), with(func(b *Batch) { b.Width, b.Height, b.Images = 1<<20, 1<<20, 1<<20 }), blur), "split it"},
			{k.Resample(q, good, good, odd, filter), "the filter along the rows: 3 taps"},
			{k.Resample(q, good, good, filter, odd), "the filter down the columns: 3 taps"},
			{k.Resample(q, with(func(b *Batch) { b.Width = 5 }), good, filter, filter), "5 outputs with 2 taps need 10"},
			{k.Resample(q, good, good, Filter{2, 5, filter.First, filter.Weights}, filter), "5 bits"},
			{k.Resample(q, good, good, Filter{2, 14, []int32{0, 0, 0, math.MinInt32}, filter.Weights}, filter), "far outside"},
			{k.Resample(q, with(func(b *Batch) { b.Images = 1 }), good, filter, filter), "resample: the output for"},
		} {
			if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
				t.Errorf("got %v, want %s", test.err, test.want)
			}
		}
		_, err := k.CopyBandwidth(q, 0, good.Pointer, 1)
		if err == nil {
			t.Error("copied to no memory")
		}
	})
}

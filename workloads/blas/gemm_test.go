package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// operand is a matrix inside a longer slice, with guards before it, between its rows and after it:
// NaNs with a payload that no arithmetic creates.
type operand[T Float] struct {
	whole          []T
	data           []T
	rows, cols, ld int
	before         int
}

// newOperand fills a rows x cols matrix with numbers from [-1, 1). Row 0 begins before elements
// into the slice.
func newOperand[T Float](rng *rand.Rand, rows, cols, gap, before int) *operand[T] {
	o := &operand[T]{rows: rows, cols: cols, ld: max(1, cols+gap), before: before}
	length := max(0, (rows-1)*o.ld+cols)
	o.whole = make([]T, before+length+64)
	for i := range o.whole {
		o.whole[i] = guard[T]()
	}
	o.data = o.whole[before:][:length]
	for i := range rows {
		for j := range cols {
			o.data[i*o.ld+j] = T(2*rng.Float64() - 1)
		}
	}
	return o
}

// guard is a quiet NaN whose payload distinguishes it from the NaNs of arithmetic.
func guard[T Float]() T {
	if size[T]() == 4 {
		return T(math.Float32frombits(0x7FC0BEEF))
	}
	return T(math.Float64frombits(0x7FF80000DEADBEEF))
}

// pattern is the bits of v.
func pattern[T Float](v T) uint64 {
	switch v := any(v).(type) {
	case float32:
		return uint64(math.Float32bits(v))
	case float64:
		return math.Float64bits(v)
	}
	return 0
}

// at is element (i, j) of the matrix, or of its transpose.
func (o *operand[T]) at(i, j int, trans bool) float64 {
	if trans {
		i, j = j, i
	}
	return float64(o.data[i*o.ld+j])
}

// touched names a guard that has changed, "" if none has.
func (o *operand[T]) touched() string {
	for i, v := range o.whole {
		at := i - o.before
		inside := at >= 0 && at < len(o.data) && at%o.ld < o.cols
		if !inside && pattern(v) != pattern(guard[T]()) {
			return fmt.Sprintf("element %d, outside the %d x %d matrix with rows %d apart, is %v", at, o.rows, o.cols, o.ld, v)
		}
	}
	return ""
}

func unit[T Float]() float64 {
	if size[T]() == 4 {
		return 0x1p-24
	}
	return 0x1p-53
}

// exact is the sum with compensated rounding errors, so that its own error does not count.
func exact[T Float](a, b *operand[T], transA, transB bool, i, j, k int) float64 {
	var s, c float64
	for l := range k {
		x, y := a.at(i, l, transA), b.at(l, j, transB)
		p := x * y
		e := math.FMA(x, y, -p)
		t := s + p
		z := t - s
		c += (s - (t - z)) + (p - z) + e
		s = t
	}
	return s + c
}

// shape is one call of Gemm.
type shape struct {
	m, n, k        int
	transA, transB bool
	alpha, beta    float64
	gaps, offsets  [3]int
	threads        int
	seed           uint64
}

// checkGemm computes one product. It compares the elements with the exact ones, and checks that
// everything outside C is unchanged.
func checkGemm[T Float](t interface{ Fatalf(string, ...any) }, isa ISA, s shape) {
	rng := rand.New(rand.NewPCG(s.seed, 1))
	oriented := func(rows, cols, which int, trans bool) *operand[T] {
		if trans {
			rows, cols = cols, rows
		}
		return newOperand[T](rng, rows, cols, s.gaps[which], s.offsets[which])
	}
	a, b, c := oriented(s.m, s.k, 0, s.transA), oriented(s.k, s.n, 1, s.transB), oriented(s.m, s.n, 2, false)
	before := append([]T(nil), c.data...)
	if s.beta == 0 {
		for i := range c.rows {
			for j := range c.cols {
				c.data[i*c.ld+j] = T(math.NaN()) // must not be read
			}
		}
	}
	Gemm(s.transA, s.transB, s.m, s.n, s.k, T(s.alpha), a.data, a.ld, b.data, b.ld, T(s.beta), c.data, c.ld, Options{ISA: isa, Threads: s.threads})
	// 2 u K max|A| max|B|, and the roundings of alpha, beta and the sum of the two.
	limit := 2 * unit[T]() * (float64(s.k)*math.Abs(s.alpha) + 2*math.Abs(s.beta) + 2*math.Abs(s.alpha)*float64(s.k))
	if s.alpha == 1 && s.beta == 0 {
		limit = 2 * unit[T]() * float64(s.k)
	}
	// Of a large product the exact sums of some elements are enough, and of its
	// last row and column; the others must be numbers.
	every := 1 + s.m*s.n*s.k/4_000_000
	for i := range s.m {
		for j := range s.n {
			if got := c.data[i*c.ld+j]; (i*s.n+j)%every > 0 && i < s.m-1 && j < s.n-1 && got == got {
				continue
			}
			want := float64(T(s.alpha)) * exact(a, b, s.transA, s.transB, i, j, s.k)
			if s.beta != 0 {
				want += float64(T(s.beta)) * float64(before[i*c.ld+j])
			}
			if got := float64(c.data[i*c.ld+j]); !(math.Abs(got-want) <= limit) {
				t.Fatalf("%s %+v: element (%d, %d) is %v, want %v (off by %.3g, tolerance %.3g)", isa, s, i, j, got, want, got-want, limit)
			}
		}
	}
	for name, o := range map[string]*operand[T]{"A": a, "B": b, "C": c} {
		if where := o.touched(); where != "" {
			t.Fatalf("%s %+v: %s: %s", isa, s, name, where)
		}
	}
}

func drawShape(t *rapid.T) shape {
	side := rapid.OneOf(rapid.IntRange(1, 9), rapid.IntRange(1, 70), rapid.SampledFrom([]int{8, 16, 24, 48, 96, 97, 193}))
	scale := rapid.SampledFrom([]float64{1, 0, -1, 0.5, 3})
	s := shape{m: side.Draw(t, "m"), n: side.Draw(t, "n"), alpha: scale.Draw(t, "alpha"), beta: scale.Draw(t, "beta"),
		k:      rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(370, 400), rapid.IntRange(570, 590)).Draw(t, "k"),
		transA: rapid.Bool().Draw(t, "transA"), transB: rapid.Bool().Draw(t, "transB"),
		threads: rapid.IntRange(1, 5).Draw(t, "threads"), seed: rapid.Uint64().Draw(t, "seed")}
	for i := range 3 {
		s.gaps[i] = rapid.IntRange(0, 20).Draw(t, "gap")
		s.offsets[i] = rapid.IntRange(0, 17).Draw(t, "offset")
	}
	return s
}

// TestGemm checks any shape, stride, transposition, alignment and scale, on every instruction set
// of the local machine.
func TestGemm(t *testing.T) {
	for _, isa := range Available() {
		t.Run(string(isa)+"/float64", rapid.MakeCheck(func(t *rapid.T) { checkGemm[float64](t, isa, drawShape(t)) }))
		t.Run(string(isa)+"/float32", rapid.MakeCheck(func(t *rapid.T) { checkGemm[float32](t, isa, drawShape(t)) }))
	}
}

// TestGemmLarge checks products that are cut into many tasks along both sides, and more than once
// along K.
func TestGemmLarge(t *testing.T) {
	for _, isa := range Available() {
		for i, s := range []shape{
			{m: 257, n: 509, k: 801, alpha: 1, threads: 3},
			{m: 600, n: 61, k: 400, alpha: 1, threads: 4, transA: true},
			{m: 33, n: 1200, k: 300, alpha: -1, beta: 1, threads: 5, transB: true},
			{m: 200, n: 200, k: 1500, alpha: 1, beta: 2, threads: 2, transA: true, transB: true},
		} {
			s.seed, s.gaps, s.offsets = uint64(i), [3]int{1, 2, 3}, [3]int{1, 0, 5}
			checkGemm[float64](t, isa, s)
			checkGemm[float32](t, isa, s)
		}
	}
}

func FuzzGemm(f *testing.F) {
	f.Add(uint16(8), uint16(24), uint16(100), uint8(0), uint8(3), uint64(1), 1.0, 0.0)
	f.Add(uint16(1), uint16(1), uint16(0), uint8(3), uint8(0), uint64(2), 0.0, 1.0)
	f.Add(uint16(17), uint16(49), uint16(385), uint8(7), uint8(9), uint64(3), -2.0, 0.5)
	f.Fuzz(func(t *testing.T, m, n, k uint16, trans, gaps uint8, seed uint64, alpha, beta float64) {
		if !(math.Abs(alpha) <= 100) || !(math.Abs(beta) <= 100) || alpha != 0 && math.Abs(alpha) < 1e-3 || beta != 0 && math.Abs(beta) < 1e-3 {
			t.Skip("the tolerance is for numbers of about one")
		}
		s := shape{m: 1 + int(m)%128, n: 1 + int(n)%128, k: int(k) % 700, transA: trans&1 > 0, transB: trans&2 > 0,
			alpha: float64(float32(alpha)), beta: float64(float32(beta)), threads: 1 + int(trans>>2)%4, seed: seed,
			gaps: [3]int{int(gaps) % 8, int(gaps) / 8 % 8, int(gaps) % 5}, offsets: [3]int{int(gaps) % 3, int(gaps) % 7, int(gaps) % 16}}
		for _, isa := range Available() {
			checkGemm[float64](t, isa, s)
			checkGemm[float32](t, isa, s)
		}
	})
}

// TestThreadsDoNotChangeTheResult checks that the sum of an element does not depend on the
// goroutine that computes it.
func TestThreadsDoNotChangeTheResult(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const m, n, k = 123, 205, 600
	a, b := newOperand[float32](rng, m, k, 0, 0), newOperand[float32](rng, k, n, 0, 0)
	for _, isa := range Available() {
		var first []float32
		for _, threads := range []int{1, 2, 3, 8, 64} {
			c := make([]float32, m*n)
			Gemm(false, false, m, n, k, 0.7, a.data, a.ld, b.data, b.ld, 0, c, n, Options{ISA: isa, Threads: threads})
			if first == nil {
				first = c
			}
			for i, v := range c {
				if v != first[i] {
					t.Fatalf("%s, %d threads: element %d is %v, with 1 it is %v", isa, threads, i, v, first[i])
				}
			}
		}
	}
}

func random[T Float](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(2*rng.Float64() - 1)
	}
	return x
}

// benchmarkGemm reports GFLOP/s and the share of the peak, which is measured
// between the products, because the clock drifts.
func benchmarkGemm[T Float](b *testing.B, isa ISA, n, threads int) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y, z := random[T](rng, n*n), random[T](rng, n*n), make([]T, n*n)
	flop, peak := 2*math.Pow(float64(n), 3), 0.0
	for b.Loop() {
		b.StopTimer()
		peak += Peak[T](isa, threads, 5e6)
		b.StartTimer()
		Gemm(false, false, n, n, n, 1, x, n, y, n, 0, z, n, Options{ISA: isa, Threads: threads})
	}
	rate := flop * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate/1e9, "GFLOP/s")
	b.ReportMetric(100*rate*float64(b.N)/peak, "%ofpeak")
}

func BenchmarkGemm(b *testing.B) {
	for _, isa := range Available() {
		for _, n := range []int{64, 256, 1000, 2000} {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/float64/%d/%d", isa, n, threads), func(b *testing.B) { benchmarkGemm[float64](b, isa, n, threads) })
				b.Run(fmt.Sprintf("%s/float32/%d/%d", isa, n, threads), func(b *testing.B) { benchmarkGemm[float32](b, isa, n, threads) })
			}
		}
	}
}

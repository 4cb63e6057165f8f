package blas

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// kind classifies a sum: finite, NaN, or one of the infinities.
func kind(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return "finite"
}

// testSpecial puts NaN, infinities and zeros anywhere, and compares each element with the
// mathematical sum. Zero times an infinity is NaN, and a special value stays in its row and column
// although tiles are padded.
func testSpecial[T Float](t *rapid.T, isa ISA) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
	m, n, k := rapid.IntRange(1, 30).Draw(t, "m"), rapid.IntRange(1, 60).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "k")
	transA, transB := rapid.Bool().Draw(t, "transA"), rapid.Bool().Draw(t, "transB")
	place := func(rows, cols int, trans bool) *operand[T] {
		if trans {
			rows, cols = cols, rows
		}
		o := newOperand[T](rng, rows, cols, 1, 0)
		for range rapid.IntRange(0, 4).Draw(t, "specials") {
			at := rng.IntN(rows)*o.ld + rng.IntN(cols)
			o.data[at] = T([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}[rng.IntN(5)])
		}
		return o
	}
	a, b := place(m, k, transA), place(k, n, transB)
	c := make([]T, m*n)
	for i := range c {
		c[i] = T(math.NaN())
	}
	Gemm(transA, transB, m, n, k, 1, a.data, a.ld, b.data, b.ld, 0, c, n, Options{ISA: isa, Threads: 2})
	for i := range m {
		for j := range n {
			want := 0.0
			for l := range k {
				want += a.at(i, l, transA) * b.at(l, j, transB)
			}
			if got := float64(c[i*n+j]); kind(got) != kind(want) {
				t.Fatalf("element (%d, %d) is %v, want %v", i, j, got, want)
			}
		}
	}
}

func TestSpecialValues(t *testing.T) {
	for _, isa := range Available() {
		t.Run(string(isa)+"/float64", rapid.MakeCheck(func(t *rapid.T) { testSpecial[float64](t, isa) }))
		t.Run(string(isa)+"/float32", rapid.MakeCheck(func(t *rapid.T) { testSpecial[float32](t, isa) }))
	}
}

// TestWhatIsNotRead checks that operands which BLAS does not read may have any value.
func TestWhatIsNotRead(t *testing.T) {
	nan := math.NaN()
	bad, good := []float64{nan, nan, nan, nan}, []float64{1, 2, 3, 4}
	for _, isa := range Available() {
		for _, test := range []struct {
			name        string
			k           int
			alpha, beta float64
			a, c, want  []float64
		}{
			{"beta 0", 2, 1, 0, good, bad, []float64{7, 10, 15, 22}},
			{"alpha 0", 2, 0, 2, bad, good, []float64{2, 4, 6, 8}},
			{"alpha and beta 0", 2, 0, 0, bad, bad, []float64{0, 0, 0, 0}},
			{"k 0", 0, 1, 3, nil, good, []float64{3, 6, 9, 12}},
			{"k and beta 0", 0, 1, 0, nil, bad, []float64{0, 0, 0, 0}},
			{"k 0, beta 1", 0, 1, 1, nil, good, good},
		} {
			c := append([]float64(nil), test.c...)
			b := test.a
			Gemm(false, false, 2, 2, test.k, test.alpha, test.a, 2, b, 2, test.beta, c, 2, Options{ISA: isa})
			for i, v := range c {
				if v != test.want[i] {
					t.Errorf("%s, %s: got %v, want %v", isa, test.name, c, test.want)
					break
				}
			}
		}
	}
}

func TestMisfits(t *testing.T) {
	x := make([]float64, 12)
	for _, test := range []struct {
		m, n, k, lda, ldb, ldc int
		want                   string
	}{
		{3, 4, 3, 3, 4, 4, ""},
		{3, 4, 4, 3, 4, 4, "the rows of A are closer than they are long"},
		{-1, 4, 4, 4, 4, 4, "a size is negative"},
		{3, 4, 3, 5, 4, 4, "A does not fit its slice"},
		{3, 4, 3, 3, 5, 4, "B does not fit its slice"},
		{3, 4, 3, 3, 4, 5, "C does not fit its slice"},
		{3, 4, 3, 3, 4, 3, "the rows of C are closer than they are long"},
		{3, 4, 3, math.MaxInt, 4, 4, "A does not fit its slice"},
		{0, 4, 3, 3, math.MaxInt / 2, 4, "B does not fit its slice"},
		{3, 4, 0, 0, 4, 4, "the rows of A are closer than they are long"},
	} {
		var got any
		func() {
			defer func() { got = recover() }()
			Gemm(false, false, test.m, test.n, test.k, 1, x, test.lda, x, test.ldb, 0, make([]float64, 12), test.ldc, Options{})
		}()
		if test.want == "" && got != nil || test.want != "" && got != "blas: "+test.want {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}

package matrix

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// multiplied returns operands and their product of n rows and columns by the
// reference kernel. The inner size is small to be quick.
func multiplied[T Float](t *testing.T, n int, kernel func(c, a, b Matrix[T], threads int)) (c, a, b Matrix[T]) {
	t.Helper()
	k := min(n, 20)
	a, b, c = New[T](n, k), New[T](k, n), New[T](n, n)
	if err := fill(t.Context(), a, 7, 1, 2); err != nil {
		t.Fatal(err)
	}
	if err := fill(t.Context(), b, 7, 2, 2); err != nil {
		t.Fatal(err)
	}
	kernel(c, a, b, 2)
	return c, a, b
}

// tolerance is what an element of float32 or float64 may be off.
func tolerance[T Float](a, b Matrix[T]) float64 {
	if _, is32 := any(T(0)).(float32); is32 {
		return limitsOf(gpu.Float32, a, b).element
	}
	return limitsOf(gpu.Float64, a, b).element
}

func TestVerify(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testVerify(t, gpu.Float64, gonumFloat64) })
	t.Run("float32", func(t *testing.T) { testVerify(t, gpu.Float32, gonumFloat32) })
	t.Run("tf32", func(t *testing.T) { testVerify(t, gpu.TF32, likeTF32) })
	t.Run("bfloat16", func(t *testing.T) { testVerify(t, gpu.BFloat16, likeBFloat16) })
}

// likeTF32 rounds the operands to 11 bits of significand, and likeBFloat16 the result to 8.
func likeTF32(c, a, b Matrix[float32], threads int) {
	rounded := func(m Matrix[float32]) Matrix[float32] {
		r := New[float32](m.Rows, m.Cols)
		for i := range m.Rows {
			for j, v := range m.Row(i) {
				bits := math.Float32bits(v)
				r.Row(i)[j] = math.Float32frombits((bits + 0xFFF + bits>>13&1) &^ 0x1FFF)
			}
		}
		return r
	}
	gonumFloat32(c, rounded(a), rounded(b), threads)
}

func likeBFloat16(c, a, b Matrix[float32], threads int) {
	gonumFloat32(c, a, b, threads)
	for i := range c.Rows {
		roundRow(make([]byte, 2*c.Cols), c.Row(i))
	}
}

// testVerify plants one wrong element after the other, at the corners, the
// centre and odd places, and wants each of them found.
func testVerify[T Float](t *testing.T, kind gpu.Precision, kernel func(c, a, b Matrix[T], threads int)) {
	for _, n := range []int{1, 2, 17, 100, 257} {
		c, a, b := multiplied(t, n, kernel)
		l := limitsOf(kind, a, b)
		if err := verify(t.Context(), c, a, b, l, 1, 2); err != nil {
			t.Errorf("%d: a right product was refused: %v", n, err)
		}
		for _, at := range [][2]int{{0, 0}, {0, n - 1}, {n - 1, 0}, {n - 1, n - 1}, {n / 2, n / 3}, {n / 3, n - 1}} {
			for _, wrong := range wrongElements(c, l, at) {
				right := c.Row(at[0])[at[1]]
				c.Row(at[0])[at[1]] = wrong
				if verify(t.Context(), c, a, b, l, 1, 2) == nil {
					t.Errorf("%d: %v instead of %v at %v was not found", n, wrong, right, at)
				}
				c.Row(at[0])[at[1]] = right
			}
		}
	}
}

// wrongElements goes down to the smallest error that is always found: twice the
// tolerance where the element is recomputed, four times Freivalds' bound elsewhere.
func wrongElements[T Float](c Matrix[T], l limits, at [2]int) []T {
	right := c.Row(at[0])[at[1]]
	least := 2.1 * (l.element + l.relative*math.Abs(float64(right)))
	if c.Rows > directLimit {
		least = 5 * freivaldsBound(l, c.Row(at[0]), c.Rows)
	}
	all := []T{T(math.NaN()), T(math.Inf(1)), T(math.Inf(-1)), right + T(least), right - T(least), right + 1000}
	if least < 0.1 {
		all = append(all, 0, -right, right+0.25)
	}
	return all
}

// TestVerifyFindsWholeErrors checks that wrong operands, a row of another, an unwritten part, and
// half the precision are found at every precision.
func TestVerifyFindsWholeErrors(t *testing.T) {
	const n = 400
	for kind, kernel := range map[gpu.Precision]func(c, a, b Matrix[float32], threads int){gpu.Float32: gonumFloat32, gpu.TF32: likeTF32, gpu.BFloat16: likeBFloat16} {
		a, b, c := New[float32](n, n), New[float32](n, n), New[float32](n, n)
		if err := fillOperands(t.Context(), measure.Options{Seed: 3, Threads: 2}, a, b); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for _, m := range []Matrix[float32]{a, b} {
				roundRow(make([]byte, 2*n), m.Row(i)) // right for every precision
			}
		}
		kernel(c, a, b, 2)
		l := limitsOf(kind, a, b)
		if err := verify(t.Context(), c, a, b, l, 1, 2); err != nil {
			t.Fatalf("%s: a right product was refused: %v", kind, err)
		}
		for name, spoil := range map[string]func(m Matrix[float32]){
			"zeros in a tile": func(m Matrix[float32]) {
				for i := 128; i < 256; i++ {
					clear(m.Row(i)[256:384])
				}
			},
			"two rows for one":  func(m Matrix[float32]) { copy(m.Row(301), m.Row(300)) },
			"one NaN":           func(m Matrix[float32]) { m.Row(311)[350] = float32(math.NaN()) },
			"one element twice": func(m Matrix[float32]) { m.Row(311)[350] += 30 },
			"a step of K less": func(m Matrix[float32]) {
				for i := range n {
					for j := range n {
						m.Row(i)[j] -= a.Row(i)[77] * b.Row(77)[j]
					}
				}
			},
			"less precision": func(m Matrix[float32]) {
				keep := map[gpu.Precision]uint32{gpu.Float32: 13, gpu.TF32: 16, gpu.BFloat16: 18}[kind]
				for i := range m.Data {
					m.Data[i] = math.Float32frombits(math.Float32bits(m.Data[i]) >> keep << keep)
				}
			},
		} {
			wrong := Matrix[float32]{n, n, n, slices.Clone(c.Data)}
			spoil(wrong)
			if err := verify(t.Context(), wrong, a, b, l, 1, 2); err == nil || !strings.HasPrefix(err.Error(), "verify: ") {
				t.Errorf("%s, %s: got %v", kind, name, err)
			}
		}
	}
}

// TestFreivaldsFindsCancellingErrors checks that errors which cancel in a plain row sum are found.
func TestFreivaldsFindsCancellingErrors(t *testing.T) {
	c, a, b := multiplied(t, 300, gonumFloat64)
	c.Row(150)[10] += 0.01
	c.Row(150)[11] -= 0.01
	c.Row(151)[10] -= 0.01
	c.Row(151)[11] += 0.01
	for seed := range uint64(20) {
		err := freivalds(t.Context(), c, a, b, limitsOf(gpu.Float64, a, b), rand.New(rand.NewPCG(seed, 1)), 2)
		if err == nil || !strings.Contains(err.Error(), "Freivalds") {
			t.Errorf("seed %d: got %v", seed, err)
		}
	}
}

// TestVerifyFindsMissingStep checks a kernel that misses the last step of K everywhere, as after a
// blocking error.
func TestVerifyFindsMissingStep(t *testing.T) {
	c, a, b := multiplied(t, 300, gonumFloat32)
	for i := range c.Rows {
		row := c.Row(i)
		for j := range row {
			row[j] -= a.Row(i)[19] * b.Row(19)[j]
		}
	}
	if verify(t.Context(), c, a, b, limitsOf(gpu.Float32, a, b), 1, 2) == nil {
		t.Error("not found")
	}
}

func TestVerifyFindsSwappedRows(t *testing.T) {
	c, a, b := multiplied(t, 270, gonumFloat32)
	for j := range c.Cols {
		c.Row(100)[j], c.Row(101)[j] = c.Row(101)[j], c.Row(100)[j]
	}
	if verify(t.Context(), c, a, b, limitsOf(gpu.Float32, a, b), 1, 2) == nil {
		t.Error("not found")
	}
}

func TestVerifyStops(t *testing.T) {
	for _, n := range []int{20, 300} {
		c, a, b := multiplied(t, n, gonumFloat64)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := verify(ctx, c, a, b, limitsOf(gpu.Float64, a, b), 1, 2); err == nil {
			t.Errorf("%d: an unfinished check passed", n)
		}
	}
}

// TestDot checks that the compensated sum keeps what a plain one loses.
func TestDot(t *testing.T) {
	x := []float64{1e16, 1, -1e16, 0.1}
	y := []float64{1, 1, 1, 10}
	if got := dot(x, y); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	if got := dot([]float32(nil), nil); got != 0 {
		t.Errorf("got %v, want 0", got)
	}
}

func TestPickRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	if got := pickRows(256, rng); len(got) != 256 || got[255] != 255 {
		t.Errorf("a small matrix is not checked whole: %v", got)
	}
	got := pickRows(5000, rng)
	if len(got) != sampledRows || got[0] != 0 || got[1] != 4999 {
		t.Errorf("got %v", got)
	}
}

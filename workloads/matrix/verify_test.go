package matrix

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
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

func TestVerify(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testVerify(t, gonumFloat64) })
	t.Run("float32", func(t *testing.T) { testVerify(t, gonumFloat32) })
}

// testVerify plants one wrong element after the other, at the corners, the
// centre and odd places, and wants each of them found.
func testVerify[T Float](t *testing.T, kernel func(c, a, b Matrix[T], threads int)) {
	for _, n := range []int{1, 2, 17, 100, 257} {
		c, a, b := multiplied(t, n, kernel)
		if err := verify(t.Context(), c, a, b, 1, 2); err != nil {
			t.Errorf("%d: a right product was refused: %v", n, err)
		}
		for _, at := range [][2]int{{0, 0}, {0, n - 1}, {n - 1, 0}, {n - 1, n - 1}, {n / 2, n / 3}, {n / 3, n - 1}} {
			for _, wrong := range wrongElements(c, a, b, at) {
				right := c.Row(at[0])[at[1]]
				c.Row(at[0])[at[1]] = wrong
				if verify(t.Context(), c, a, b, 1, 2) == nil {
					t.Errorf("%d: %v instead of %v at %v was not found", n, wrong, right, at)
				}
				c.Row(at[0])[at[1]] = right
			}
		}
	}
}

// wrongElements goes down to the smallest error that is always found: twice the
// tolerance where the element is recomputed, four times Freivalds' bound elsewhere.
func wrongElements[T Float](c, a, b Matrix[T], at [2]int) []T {
	right := c.Row(at[0])[at[1]]
	least := 2.1 * tolerance(a, b)
	if c.Rows > directLimit {
		least = 5 * freivaldsBound(tolerance(a, b), c.Rows, c.Cols)
	}
	all := []T{T(math.NaN()), T(math.Inf(1)), T(math.Inf(-1)), right + T(least), right - T(least), right + 1000}
	if least < 0.1 {
		all = append(all, 0, -right, right+0.25)
	}
	return all
}

// Errors that cancel in a plain row sum must be found all the same.
func TestFreivaldsFindsCancellingErrors(t *testing.T) {
	c, a, b := multiplied(t, 300, gonumFloat64)
	c.Row(150)[10] += 0.01
	c.Row(150)[11] -= 0.01
	c.Row(151)[10] -= 0.01
	c.Row(151)[11] += 0.01
	for seed := range uint64(20) {
		err := freivalds(t.Context(), c, a, b, tolerance(a, b), rand.New(rand.NewPCG(seed, 1)), 2)
		if err == nil || !strings.Contains(err.Error(), "Freivalds") {
			t.Errorf("seed %d: got %v", seed, err)
		}
	}
}

// A kernel that forgets the last step of K everywhere, as a blocking slip does.
func TestVerifyFindsMissingStep(t *testing.T) {
	c, a, b := multiplied(t, 300, gonumFloat32)
	for i := range c.Rows {
		row := c.Row(i)
		for j := range row {
			row[j] -= a.Row(i)[19] * b.Row(19)[j]
		}
	}
	if verify(t.Context(), c, a, b, 1, 2) == nil {
		t.Error("not found")
	}
}

func TestVerifyFindsSwappedRows(t *testing.T) {
	c, a, b := multiplied(t, 270, gonumFloat32)
	for j := range c.Cols {
		c.Row(100)[j], c.Row(101)[j] = c.Row(101)[j], c.Row(100)[j]
	}
	if verify(t.Context(), c, a, b, 1, 2) == nil {
		t.Error("not found")
	}
}

func TestVerifyStops(t *testing.T) {
	for _, n := range []int{20, 300} {
		c, a, b := multiplied(t, n, gonumFloat64)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := verify(ctx, c, a, b, 1, 2); err == nil {
			t.Errorf("%d: an unfinished check passed", n)
		}
	}
}

// The compensated sum keeps what a plain one loses.
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

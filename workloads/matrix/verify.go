package matrix

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/batchctl/batchctl/workloads/measure"
)

const (
	// directLimit is the size up to which every element is recomputed.
	directLimit = 256
	// sampledRows is the number of rows that are recomputed of a larger product; Freivalds' check
	// covers the others.
	sampledRows = 16
	// falseAlarm bounds the probability that Freivalds' check rejects a product
	// whose every element is within tolerance.
	falseAlarm = 1e-9
	// unit64 is the unit roundoff of float64, in which the checks compute.
	unit64 = 0x1p-53
)

// verify checks C = A B: every element of a small product, otherwise sampled rows and Freivalds'
// check of all rows. The seed must differ from that of the operands.
func verify[T Float](ctx context.Context, c, a, b Matrix[T], l limits, seed uint64, threads int) error {
	rng := rand.New(rand.NewPCG(seed, 0xF4E1))
	if err := checkRows(ctx, c, a, b, l, pickRows(c.Rows, rng), threads); err != nil || c.Rows <= directLimit {
		return err
	}
	// If errors may be relative to the elements, a row's error grows with its length, and one wrong
	// element would be hidden in a long row.
	segment := c.Cols
	if l.share > 0 {
		segment = divide(c.Cols, c.Cols/directLimit)
	}
	for left := 0; left < c.Cols; left += segment {
		right := min(left+segment, c.Cols)
		if err := freivalds(ctx, c.columns(left, right), a, b.columns(left, right), l, rng, threads); err != nil {
			return err
		}
	}
	return nil
}

// pickRows returns all rows of a small matrix, otherwise the first, the last and random ones.
func pickRows(rows int, rng *rand.Rand) []int {
	if rows <= directLimit {
		all := make([]int, rows)
		for i := range all {
			all[i] = i
		}
		return all
	}
	picked := []int{0, rows - 1}
	for len(picked) < sampledRows {
		picked = append(picked, rng.IntN(rows))
	}
	return picked
}

// checkRows compares whole rows with sums in float64.
func checkRows[T Float](ctx context.Context, c, a, b Matrix[T], l limits, rows []int, threads int) error {
	var found failure
	offs, norms := make([]float64, len(rows)), make([]float64, len(rows)) // sums of squares
	// One buffer for each thread, because those of all rows would take half a per cent of the operands.
	buffers := sync.Pool{New: func() any {
		row := make([]float64, b.Cols)
		return &row
	}}
	err := measure.Parallel(ctx, threads, len(rows), 1, func(at, _ int) {
		row := buffers.Get().(*[]float64)
		defer buffers.Put(row)
		want := *row
		clear(want)
		for k, x := range a.Row(rows[at]) {
			for j, y := range b.Row(k) {
				want[j] += float64(x) * float64(y)
			}
		}
		for j, got := range c.Row(rows[at]) {
			off, limit := math.Abs(float64(got)-want[j]), l.element+l.relative*math.Abs(want[j])
			if !(off <= limit) {
				found.set(fmt.Errorf("verify: element (%d, %d) is off by %.3g, tolerance %.3g", rows[at], j, off,
					limit))
			}
			offs[at] += off * off
			norms[at] += want[j] * want[j]
		}
	})
	if err := found.or(err); err != nil || l.share == 0 || len(rows)*c.Cols < shareElements {
		return err
	}
	if off := math.Sqrt(sum(offs) / sum(norms)); !(off <= l.share) {
		return fmt.Errorf("verify: %d rows are off by %.3g of their norm, tolerance %.3g", len(rows), off, l.share)
	}
	return nil
}

// freivalds checks C r = A (B r) for a random r, in O(N²).
//
// The elements of r have random signs and a size from 1/2 to 1, so that equal errors do not cancel.
// A row of (C - AB) r is then a sum of independent terms of random sign, none larger than the error
// of its element. freivaldsBound is the largest value in a correct product. The sums are
// compensated, as if computed twice as precisely. So the check's own error is the rounding of B r
// when it is stored, K unit max|A| max|B r|, and that of the two final sums; it is added to the
// bound.
//
// An element that is wrong by more than four times the bound is always found: half of its error
// reaches its row, and rounding can hide at most the bound.
func freivalds[T Float](ctx context.Context, c, a, b Matrix[T], l limits, rng *rand.Rand, threads int) error {
	r := randomSigns(b.Cols, rng)
	br := make([]float64, b.Rows)
	if err := multiply(ctx, br, b, r, threads); err != nil {
		return err
	}
	own := unit64 * float64(a.Cols) * l.factor * maxOf(br)
	var found failure
	err := measure.Parallel(ctx, threads, c.Rows, rowBand, func(low, high int) {
		for i := low; i < high; i++ {
			got, want := dot(c.Row(i), r), dot(a.Row(i), br)
			off := math.Abs(got - want)
			allowed := freivaldsBound(l, c.Row(i), c.Rows) + own + 2*unit64*(math.Abs(got)+math.Abs(want))
			if !(off <= allowed) {
				found.set(fmt.Errorf("verify: row %d is off by %.3g, tolerance %.3g (Freivalds' check)", i, off,
					allowed))
			}
		}
	})
	return found.or(err)
}

// freivaldsBound is the bound on (C - AB) r in a row of C. By Hoeffding's inequality a sum of terms
// of random sign exceeds sqrt(2 ln(2 Rows/p)) times the root of the sum of their squares in some
// row with a probability below p. That root is at most the norm of a row whose every element has
// the largest error and, if the limits have a share, that share of the row.
func freivaldsBound[T Float](l limits, row []T, rows int) float64 {
	n := float64(len(row))
	spread := math.Sqrt(2 * math.Log(2*float64(rows)/falseAlarm))
	if l.relative == 0 && l.share == 0 {
		return l.element * min(n, math.Sqrt(n)*spread)
	}
	length := norm(row)
	off := l.element*math.Sqrt(n) + l.relative*length
	if l.share > 0 {
		off = min(off, l.share*length)
	}
	return spread * off
}

func randomSigns(n int, rng *rand.Rand) []float64 {
	r := make([]float64, n)
	for i := range r {
		r[i] = (1 + rng.Float64()) / 2
		if rng.Uint64()&1 == 0 {
			r[i] = -r[i]
		}
	}
	return r
}

func multiply[T Float](ctx context.Context, dst []float64, m Matrix[T], x []float64, threads int) error {
	return measure.Parallel(ctx, threads, m.Rows, rowBand, func(low, high int) {
		for i := low; i < high; i++ {
			dst[i] = dot(m.Row(i), x)
		}
	})
}

// dot is the compensated dot product: c collects the rounding error of every
// product and every addition. Four sums run beside one another, because each
// addition has to wait for the one before.
func dot[T Float](x []T, y []float64) float64 {
	var s, c [4]float64
	y = y[:len(x)]
	for len(x) >= 4 {
		s[0], c[0] = addProduct(s[0], c[0], float64(x[0]), y[0])
		s[1], c[1] = addProduct(s[1], c[1], float64(x[1]), y[1])
		s[2], c[2] = addProduct(s[2], c[2], float64(x[2]), y[2])
		s[3], c[3] = addProduct(s[3], c[3], float64(x[3]), y[3])
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s[0], c[0] = addProduct(s[0], c[0], float64(v), y[i])
	}
	for i := 1; i < 4; i++ {
		s[0], c[0] = addProduct(s[0], c[0]+c[i], s[i], 1)
	}
	return s[0] + c[0]
}

// addProduct adds v*w to s, and the rounding errors of that to c. The conversion keeps the
// compiler from fusing.
func addProduct(s, c, v, w float64) (sum, errors float64) {
	p := float64(v * w)
	e := math.FMA(v, w, -p)
	t := s + p
	z := t - s
	return t, c + (s - (t - z)) + (p - z) + e
}

func norm[T Float](row []T) float64 {
	squares := 0.0
	for _, v := range row {
		squares += float64(v) * float64(v)
	}
	return math.Sqrt(squares)
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

func maxAbs[T Float](m Matrix[T]) float64 {
	var most T
	for i := range m.Rows {
		for _, v := range m.Row(i) {
			if v < 0 {
				v = -v
			}
			if v > most {
				most = v
			}
		}
	}
	return float64(most)
}

func maxOf(values []float64) float64 {
	return maxAbs(Matrix[float64]{Rows: 1, Cols: len(values), Data: values})
}

// failure keeps the first problem that any goroutine finds.
type failure struct{ first atomic.Pointer[error] }

func (f *failure) set(err error) { f.first.CompareAndSwap(nil, &err) }

func (f *failure) or(err error) error {
	if found := f.first.Load(); found != nil {
		return *found
	}
	return err
}

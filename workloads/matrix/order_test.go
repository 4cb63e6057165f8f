package matrix

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// TestOrders checks that the copies take all of the card's rows of A and all of B, that the products
// are all of its rows of C, once, and that each has its operands.
func TestOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := product{rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(1, 12000).Draw(t, "size")}
		b := budget{gpu.Info{Multiprocessors: rapid.SampledFrom([]int{1, 2, 40, 132}).Draw(t, "multiprocessors")}, 1 << 40}
		cards := rapid.IntRange(1, 8).Draw(t, "cards")
		plan, err := planFor(p, rapid.IntRange(0, cards-1).Draw(t, "card"), cards, b)
		if err != nil {
			t.Fatal(err)
		}
		if o := plan.order(p.kind, b); o != nil {
			checkOrder(t, plan, *o)
		}
	})
}

func checkOrder(t *rapid.T, p plan, o order) {
	rows, cols := []int{p.low}, []int{0} // after each copy
	var panels []strip
	for _, s := range o.copies {
		last := &rows[len(rows)-1]
		if s.ofB {
			panels = append(panels, s)
			last = &cols[len(cols)-1]
		}
		if s.low != *last || s.high <= s.low {
			t.Fatalf("copy %+v after %d", s, *last)
		}
		rows, cols = append(rows, rows[len(rows)-1]), append(cols, cols[len(cols)-1])
		if s.ofB {
			cols[len(cols)-1] = s.high
		} else {
			rows[len(rows)-1] = s.high
		}
	}
	if rows[len(rows)-1] != p.high || cols[len(cols)-1] != p.cols {
		t.Fatalf("%d rows and %d columns are copied of %+v", rows[len(rows)-1], cols[len(cols)-1], p)
	}
	next := make([]int, len(panels)) // row of each panel's next product
	for i := range next {
		next[i] = p.low
	}
	loaded := 0
	for _, task := range o.products {
		b := panels[task.panel]
		if task.left != b.low || task.right != b.high || task.top != next[task.panel] || task.bottom <= task.top {
			t.Fatalf("%+v of %+v, after row %d", task, b, next[task.panel])
		}
		next[task.panel] = task.bottom
		if task.loaded < loaded || rows[task.loaded] < task.bottom || cols[task.loaded] < task.right {
			t.Fatalf("%+v before its operands are copied", task)
		}
		loaded = task.loaded
	}
	for i, row := range next {
		if row != p.high {
			t.Fatalf("panel %+v ends at row %d", panels[i], row)
		}
	}
}

// onH200 are the times of a product of a precision, with N = 10,000, that FIGURES.md has of an H200:
// of the kernels, in the blocks of the streamed plan, and of the copy of each matrix.
type onH200 struct {
	kernels, matrix float64
}

var measured = map[gpu.Precision]onH200{gpu.Float32: {39.82, 7.3}, gpu.Float64: {33.14, 14.5}}

var h200 = budget{gpu.Info{Multiprocessors: 132}, 126 << 30}

// planOnH200 is the plan of a size, and the rates by the measured times in milliseconds.
func planOnH200(t *testing.T, kind gpu.Precision, size int) (plan, rates) {
	t.Helper()
	figures, n := measured[kind], 10000.0
	reference, err := planFor(product{kind, int(n)}, 0, 1, h200)
	if err != nil {
		t.Fatal(err)
	}
	kernels := reference.streamed(rates{round: 1}, 264).kernels
	plan, err := planFor(product{kind, size}, 0, 1, h200)
	if err != nil {
		t.Fatal(err)
	}
	return plan, rates{round: figures.kernels / kernels * float64(size) / n, perByte: figures.matrix / (n * n * float64(kind.Bytes())), perCopy: 0.005}
}

// run is the timeline of an order with other rates than it was made for.
func (o order) run(p plan, r rates) timeline {
	t := p.timeline(r, 264)
	arrivals := []float64{0}
	for _, s := range o.copies {
		t.copyIn(s.size(), p.depth)
		arrivals = append(arrivals, t.in)
	}
	for _, task := range o.products {
		t.multiply(task.rows(), task.cols(), arrivals[task.loaded])
	}
	return t
}

// TestOrderOnH200 compares the orders with the limit for any order. While parts a of A and b of B are
// on the card, at most a b of the work can be done, so with copies in of T and kernels of K the limit
// is K + T²/4K. The timeline has to give what was measured of the streamed plan.
//
// In float64 the copies take nearly as long as the kernels, so that more products are needed. Each
// of them takes blockOverhead, and a strip of B is an operand of its own.
func TestOrderOnH200(t *testing.T) {
	for _, test := range []struct {
		kind           gpu.Precision
		streamed, most float64
	}{{gpu.Float32, 49.06, 1.05}, {gpu.Float64, 51.27, 1.135}} {
		p, r := planOnH200(t, test.kind, 10000)
		streamed := p.streamed(r, 264)
		if math.Abs(streamed.out/test.streamed-1) > 0.01 {
			t.Errorf("%s: the streamed plan takes %.2f ms, measured are %.2f", test.kind, streamed.out, test.streamed)
		}
		o := p.order(test.kind, h200)
		if o == nil {
			t.Fatalf("%s: no order", test.kind)
		}
		k, in := measured[test.kind].kernels, 2*measured[test.kind].matrix
		limit, got := k+in*in/(4*k), o.run(p, r)
		t.Logf("%s: %.2f ms, kernels %.2f; the limit is %.2f: %.3f\n%v\n%v", test.kind, got.out, got.kernels, limit, got.out/limit, o.copies, o.products)
		if got.out > test.most*limit || got.kernels > 1.02*k {
			t.Errorf("%s: %.2f ms, of which kernels take %.2f; the limit is %.2f", test.kind, got.out, got.kernels, limit)
		}
	}
}

// TestOrdersAgainstStreamed checks that no order takes longer than the streamed plan, with the rates of
// an H200.
func TestOrdersAgainstStreamed(t *testing.T) {
	for kind := range measured {
		found := 0
		for size := 500; size <= 20000; size += 500 {
			p, r := planOnH200(t, kind, size)
			o := p.order(kind, h200)
			if o == nil {
				continue
			}
			found++
			if got, streamed := o.run(p, r), p.streamed(r, 264); got.out > streamed.out {
				t.Errorf("%s, N = %d: %.2f ms, streamed %.2f", kind, size, got.out, streamed.out)
			}
		}
		if found < 20 {
			t.Errorf("%s: orders for only %d sizes", kind, found)
		}
	}
}

// TestNoOrder checks that the streamed plan is kept for matrices that do not fit, and small ones.
func TestNoOrder(t *testing.T) {
	for _, test := range []struct {
		size  int
		bytes int64
		want  bool
	}{
		{10000, 1 << 40, true}, {10000, 3 * 10000 * 10000 * 4, true}, {10000, 3*10000*10000*4 - 1, false}, {100, 1 << 40, false}, {1000, 1 << 40, false},
	} {
		t.Run(fmt.Sprint(test.size, " ", test.bytes), func(t *testing.T) {
			b := budget{h200.card, test.bytes}
			p, err := planFor(product{gpu.Float32, test.size}, 0, 1, b)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.order(gpu.Float32, b) != nil; got != test.want {
				t.Errorf("an order: %t", got)
			}
		})
	}
}

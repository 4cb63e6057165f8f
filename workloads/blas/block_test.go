package blas

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestTasksCoverOnce checks that every element of C belongs to one task, and that tasks begin at
// whole tiles. So the tile of an element does not depend on the number of tasks.
func TestTasksCoverOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, 700))
		m, n, k := side.Draw(t, "m"), side.Draw(t, "n"), side.Draw(t, "k")
		tile := rapid.SampledFrom([][2]int{{8, 24}, {8, 48}, {4, 12}, {4, 24}, {2, 4}}).Draw(t, "tile")
		size := rapid.SampledFrom([]int{4, 8}).Draw(t, "size")
		b := block(tile[0], tile[1], m, n, k, size, rapid.IntRange(1, 200).Draw(t, "threads"), 512<<10)
		if b.kc < 1 || b.panels < 1 || b.threads < 1 || b.threads > b.tasks() {
			t.Fatalf("got %+v", b)
		}
		seen := make([]bool, m*n)
		for i := range b.tasks() {
			x := b.task(i)
			if x.row%tile[0] != 0 || x.col%tile[1] != 0 || x.rows < 1 || x.cols < 1 || x.cols > b.panels*tile[1] {
				t.Fatalf("task %d of %+v is %+v", i, b, x)
			}
			for r := x.row; r < x.row+x.rows; r++ {
				for c := x.col; c < x.col+x.cols; c++ {
					if seen[r*n+c] {
						t.Fatalf("element (%d, %d) has two tasks of %+v", r, c, b)
					}
					seen[r*n+c] = true
				}
			}
		}
		for i, s := range seen {
			if !s {
				t.Fatalf("element (%d, %d) has no task of %+v", i/n, i%n, b)
			}
		}
	})
}

// TestMemory checks that a product takes at most its operands plus 5 %, from 1000 x 1000 on with 2
// threads and from 4000 on with 64.
func TestMemory(t *testing.T) {
	for _, threads := range []int{1, 2, 4, 16, 64} {
		for _, n := range []int{1000, 2000, 4000, 10000} {
			if threads > 2 && n < 4000 && threads*500 > n*4 {
				continue
			}
			for _, tile := range [][3]int{{8, 24, 8}, {8, 48, 4}, {4, 12, 8}, {4, 24, 4}, {2, 4, 8}, {2, 4, 4}} {
				b := block(tile[0], tile[1], n, n, n, tile[2], threads, largestBlock)
				operands := 3 * n * n * tile[2]
				if more := float64(b.workspaceBytes(tile[0], tile[1], tile[2])) / float64(operands); more > 0.05 {
					t.Errorf("%d x %d, %d threads, tile %v: %.1f %% more than the operands: %+v", n, n, threads, tile, 100*more, b)
				}
			}
		}
	}
}

// TestWorkspaceBytes checks that the reported workspace is what the goroutines allocate.
func TestWorkspaceBytes(t *testing.T) {
	t.Run("float64", testWorkspaceBytes[float64])
	t.Run("float32", testWorkspaceBytes[float32])
}

func testWorkspaceBytes[T Float](t *testing.T) {
	for _, n := range []int{1, 50, 300, 1000} {
		for _, threads := range []int{1, 3} {
			o := Options{Threads: threads}.complete()
			kernel := kernelFor[T](o.ISA)
			b := block(kernel.mr, kernel.nr, n, n, n, size[T](), threads, cacheBytes())
			taken := takeWorkspace[T](b, kernel.mr, kernel.nr)
			elements := len(taken.a) + len(taken.b) + len(taken.c)
			got, least := WorkspaceBytes[T](n, n, n, o), int64(b.threads*elements*size[T]())
			if got < least || got > least+int64(b.threads)*4*vectorBytes {
				t.Errorf("%d x %d, %d threads: %d bytes, the goroutines take %d", n, n, threads, got, least)
			}
		}
	}
	if got := WorkspaceBytes[T](0, 5, 5, Options{}); got != 0 {
		t.Errorf("an empty product packs into %d bytes", got)
	}
}

// TestSplit checks that the two parts of a task are exactly the rest of it, and that at most half
// is given away.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(1, 3000)
		mr := rapid.SampledFrom([]int{2, 4, 8}).Draw(t, "mr")
		b := block(mr, 3*mr, side.Draw(t, "m"), side.Draw(t, "n"), side.Draw(t, "k"), 8, rapid.IntRange(1, 8).Draw(t, "threads"), largestBlock)
		whole := b.task(rapid.IntRange(0, b.tasks()-1).Draw(t, "task"))
		l := b.kc * rapid.IntRange(0, (b.k-1)/b.kc).Draw(t, "pass")
		i := min(whole.row+mr*rapid.IntRange(1, divide(whole.rows, mr)).Draw(t, "strip"), whole.row+whole.rows)
		kept, given, ok := b.split(whole, i, l)
		if !ok {
			return
		}
		if !given.begun || given.rows < leastRows || given.row%mr != 0 || kept.row%mr != 0 || kept.rows < 0 ||
			kept.col != whole.col || kept.cols != whole.cols || given.col != whole.col || given.cols != whole.cols || given.from%b.kc != 0 {
			t.Fatalf("%+v at (%d, %d): %+v and %+v", whole, i, l, kept, given)
		}
		// counts is how often a row is computed in each pass: before, and by either part.
		for pass := 0; pass < b.k; pass += b.kc {
			counts := make([]int, whole.rows)
			add := func(from, to int) {
				for r := from; r < to; r++ {
					counts[r-whole.row]++
				}
			}
			switch {
			case pass < l:
				add(whole.row, whole.row+whole.rows)
			case pass == l:
				add(whole.row, i)
				add(max(i, kept.row), kept.row+kept.rows)
			default:
				add(kept.row, kept.row+kept.rows)
			}
			if pass >= given.from {
				add(given.row, given.row+given.rows)
			}
			for r, count := range counts {
				if count != 1 {
					t.Fatalf("%+v at (%d, %d): row %d of the pass at %d is computed %d times: %+v and %+v", whole, i, l, whole.row+r, pass, count, kept, given)
				}
			}
		}
		later := divide(b.k-l, b.kc) - 1
		passes := divide(b.k-given.from, b.kc)
		left := whole.row + whole.rows - i + later*whole.rows
		if gave := given.rows * passes; 2*gave > left+(mr+1)*2*(later+1) {
			t.Fatalf("%+v at (%d, %d): %d of %d rows are given away: %+v", whole, i, l, gave, left, given)
		}
	})
}

// TestWorkIsEven checks that a few cores have work all of the time and many nearly all of it, even
// if one core has half the speed of the others. A few cores multiply nearly all of the time.
func TestWorkIsEven(t *testing.T) {
	for _, threads := range []int{2, 3, 4, 8, 16, 32, 64, 96} {
		least, leastProduct := 0.8, 0.75
		if threads <= 4 {
			least, leastProduct = 0.98, 0.86
		}
		for _, n := range []int{1000, 1500, 2000, 3000, 4000, 5000, 8000, 10000} {
			if threads > 16 && n < 2000 || threads > 64 && n < 4000 {
				continue
			}
			if n > 5000 && !testtool.IsLong() {
				continue // the simulation of one takes as long as that of all smaller ones
			}
			if threads <= 4 && n >= 4000 {
				leastProduct = 0.95
			}
			for _, tile := range [][3]int{{8, 24, 8}, {8, 48, 4}, {4, 12, 8}} {
				b := block(tile[0], tile[1], n, n, n, tile[2], threads, largestBlock)
				for _, slowest := range []float64{1, 2} {
					if busy, product := simulate(b, slowest); b.threads < threads || busy < least || product < leastProduct {
						t.Errorf("%d x %d, %d threads, the first %g times as slow, tile %v: work for %.1f %% of the time, products for %.1f: %+v", n, n, threads, slowest, tile, 100*busy, 100*product, b)
					}
				}
			}
		}
	}
}

// simulate computes a product in virtual time. The first goroutine needs slowest times as long as
// the others. It returns the shares of the time in which goroutines pack or multiply (busy), and in
// which they multiply (product).
func simulate(b blocking, slowest float64) (busy, product float64) {
	// Packing a panel takes as long as so many rows of its products (Emerald Rapids).
	const packing = 90
	type worker struct {
		task      tile
		row, from int // the next strip, and where its pass begins
		now, slow float64
		working   bool
	}
	compute := func(w *worker, rows int) {
		work := float64(rows) * float64(w.task.cols) * float64(min(b.kc, b.k-w.from))
		busy += work
		w.now += work * w.slow
	}
	begin := func(w *worker, t tile) {
		w.task, w.row, w.from, w.working = t, t.row, t.from, true
		compute(w, packing)
	}
	next, workers := 0, make([]*worker, b.threads)
	for i := range workers {
		workers[i] = &worker{slow: 1}
		begin(workers[i], b.task(next))
		next++
	}
	workers[0].slow = slowest
	var waiting []*worker
	end := 0.0
	for len(waiting) < len(workers) {
		var w *worker
		for _, other := range workers {
			if other.working && (w == nil || other.now < w.now) {
				w = other
			}
		}
		compute(w, min(b.mr, w.task.row+w.task.rows-w.row))
		w.row += b.mr
		end = max(end, w.now)
		if len(waiting) > 0 {
			if kept, given, ok := b.split(w.task, w.row, w.from); ok {
				w.task = kept
				waiting[0].now = w.now
				begin(waiting[0], given)
				waiting = waiting[1:]
			}
		}
		switch {
		case w.row < w.task.row+w.task.rows:
		case w.from+b.kc < b.k:
			w.from += b.kc
			w.row = w.task.row
			compute(w, packing)
		case next < b.tasks():
			begin(w, b.task(next))
			next++
		default:
			w.working = false
			waiting = append(waiting, w)
		}
	}
	whole := end * (float64(b.threads-1) + 1/slowest)
	return busy / whole, float64(b.m) * float64(b.n) * float64(b.k) / whole
}

// TestLastPanel checks that the panel at the right edge is the narrowest that fits the remaining
// columns, and no wider than the others.
func TestLastPanel(t *testing.T) {
	for _, isa := range Available() {
		kernel := kernelFor[float64](isa)
		for columns := 1; columns < kernel.nr; columns++ {
			width, multiply := kernel.last(columns)
			if width != roundUp(columns, kernel.nr/(len(kernel.narrow)+1)) || multiply == nil {
				t.Errorf("%s: %d columns are computed as %d", isa, columns, width)
			}
		}
	}
}

// TestFollow checks that every row that the next strip reads is prefetched in time, even if a block
// of B has fewer panels than a strip has rows.
func TestFollow(t *testing.T) {
	for _, rows := range []int{4, 8} {
		for panels := leastPanels; panels <= 12; panels++ {
			var s strip[float64]
			const ld = 100
			s.follow(make([]float64, 1), rows, ld, 8, panels)
			fetched := map[int]bool{}
			for p := range panels {
				fetched[p*s.jump] = true
				fetched[p*s.jump+s.also] = true
			}
			for r := range rows {
				if !fetched[r*ld] {
					t.Errorf("%d panels: row %d of %d is not fetched", panels, r, rows)
				}
			}
		}
	}
}

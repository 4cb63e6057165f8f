package blas

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every element of C belongs to one task, and tasks begin at whole tiles, so that
// an element's tile does not depend on how many tasks there are.
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

// A product takes its operands plus 5 %, from 1000 x 1000 on with 2 threads and
// from 4000 on with 64.
func TestMemory(t *testing.T) {
	for _, threads := range []int{1, 2, 4, 16, 64} {
		for _, n := range []int{1000, 2000, 4000, 10000} {
			if threads > 2 && n < 4000 && threads*500 > n*4 {
				continue
			}
			for _, tile := range [][3]int{{8, 24, 8}, {8, 48, 4}, {4, 12, 8}, {4, 24, 4}, {2, 4, 8}, {2, 4, 4}} {
				b := block(tile[0], tile[1], n, n, n, tile[2], threads, 1<<20)
				operands := 3 * n * n * tile[2]
				if more := float64(b.workspaceBytes(tile[0], tile[1], tile[2])) / float64(operands); more > 0.05 {
					t.Errorf("%d x %d, %d threads, tile %v: %.1f %% more than the operands: %+v", n, n, threads, tile, 100*more, b)
				}
			}
		}
	}
}

// What a product is said to pack into is what its goroutines take.
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

// Few cores have work for all of the time, and many for nearly all: the one with most
// tasks has little more than the mean.
func TestWorkIsEven(t *testing.T) {
	for _, threads := range []int{2, 3, 4, 8, 16, 32, 64, 96} {
		least := 0.8
		if threads <= spare {
			least = 0.98
		}
		for _, n := range []int{1000, 1500, 2000, 3000, 4000, 5000, 8000, 10000} {
			if threads > 16 && n < 2000 || threads > 64 && n < 4000 {
				continue
			}
			for _, tile := range [][3]int{{8, 24, 8}, {8, 48, 4}, {4, 12, 8}} {
				b := block(tile[0], tile[1], n, n, n, tile[2], threads, 1<<20)
				if busy := float64(n) * float64(n) / float64(longestShare(b)*threads); b.threads < threads || busy < least {
					t.Errorf("%d x %d, %d threads, tile %v: %.0f %% of the time: %+v", n, n, threads, tile, 100*busy, b)
				}
			}
		}
	}
}

// longestShare is how many elements of C the busiest goroutine computes, where each
// takes the next task as soon as it is free.
func longestShare(b blocking) int {
	shares := make([]int, b.threads)
	for i := range b.tasks() {
		least := slices.Index(shares, slices.Min(shares))
		x := b.task(i)
		shares[least] += x.rows * x.cols
	}
	return slices.Max(shares)
}

// The panel on the right is the narrowest that holds what is left, and no wider
// than the others.
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

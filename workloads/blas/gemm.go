package blas

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// Options choose how a product is computed. The zero value is the fastest choice.
type Options struct {
	// ISA is the instruction set; empty means Best. Gemm panics if the machine lacks it.
	ISA ISA
	// Threads is the number of goroutines that compute; 0 means GOMAXPROCS. Small products use
	// fewer.
	Threads int
}

// Gemm computes C = alpha op(A) op(B) + beta C for row-major matrices: op(A) is m x k, op(B) is k x
// n and C is m x n. op(X) is X or, with trans, its transpose: then a has k rows of m elements, and
// b has n rows of k. Row i of a begins at a[i*lda]; gaps between rows are neither read nor written.
//
// As in BLAS, C is not read where beta is 0, and A and B are not read where alpha or k is 0.
// Everywhere else NaN and infinities propagate as in the mathematical sum. C must not overlap A or
// B. Each element of C is a sum of at most k products; its rounding depends on the shape alone, not
// on the number of threads.
//
// Gemm panics if a shape does not fit its slice.
func Gemm[T Float](transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int,
	o Options) {
	if fault := Misfit(transA, transB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc); fault != "" {
		panic("blas: " + fault)
	}
	if m == 0 || n == 0 {
		return
	}
	if alpha == 0 || k == 0 {
		scale(c, ldc, m, n, beta)
		return
	}
	o = o.complete()
	g := &product[T]{kernel: kernelFor[T](o.ISA), m: m, n: n, k: k, alpha: alpha, beta: beta,
		a: a, lda: lda, transA: transA, b: b, ldb: ldb, transB: transB, c: c, ldc: ldc}
	g.blocking = block(g.kernel.mr, g.kernel.nr, m, n, k, size[T](), o.Threads, cacheBytes())
	g.run()
}

// complete fills in the defaults. It panics if the machine lacks the instruction set.
func (o Options) complete() Options {
	if o.ISA == "" {
		o.ISA = Best()
	}
	if !slices.Contains(Available(), o.ISA) {
		panic(fmt.Sprintf("blas: no kernels for %q on this machine", o.ISA))
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	return o
}

// Misfit describes what is wrong with the shapes of a product, for which Gemm panics; "" means that they fit.
func Misfit(transA, transB bool, m, n, k, lenA, lda, lenB, ldb, lenC, ldc int) string {
	if min(m, n, k) < 0 {
		return "a size is negative"
	}
	for _, x := range []struct {
		name             string
		trans            bool
		rows, cols       int
		length, distance int
	}{{"A", transA, m, k, lenA, lda}, {"B", transB, k, n, lenB, ldb}, {"C", false, m, n, lenC, ldc}} {
		if x.trans {
			x.rows, x.cols = x.cols, x.rows
		}
		if x.distance < max(1, x.cols) {
			return "the rows of " + x.name + " are closer than they are long"
		}
		if x.rows > 0 && x.cols > 0 && (x.length < x.cols || (x.length-x.cols)/x.distance < x.rows-1) {
			return x.name + " does not fit its slice"
		}
	}
	return ""
}

// scale multiplies C by beta. It does not read C where beta is 0.
func scale[T Float](c []T, ldc, m, n int, beta T) {
	if beta == 1 {
		return
	}
	for i := range m {
		row := c[i*ldc:][:n]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}

// product is one call of Gemm.
type product[T Float] struct {
	kernel      kernel[T]
	m, n, k     int
	alpha, beta T
	a, b, c     []T
	lda, ldb    int
	ldc         int
	transA      bool
	transB      bool
	blocking    blocking
	tasks       *tasks
}

// run computes all tasks on the planned number of goroutines, of which the caller is one. No
// goroutine waits for another before all blocks of C are taken.
func (g *product[T]) run() {
	g.tasks = newTasks(g.blocking)
	if g.blocking.threads == 1 {
		g.work()
		return
	}
	var group sync.WaitGroup
	for range g.blocking.threads - 1 {
		group.Go(g.work)
	}
	g.work()
	group.Wait()
}

// work is one goroutine: it takes tasks and computes them until none is left.
func (g *product[T]) work() {
	if g.blocking.threads < runtime.GOMAXPROCS(0) && float64(g.m)*float64(g.n)*float64(g.k) >= lockedWork {
		// A preempted goroutine continues on any idle processor of the runtime, on a core whose
		// cache has nothing of its block of B. A locked thread stays on its core.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	w := takeWorkspace[T](g.blocking, g.kernel.mr, g.kernel.nr)
	defer giveWorkspace(w)
	w.strip.alpha = g.alpha
	for {
		t, ok := g.tasks.take()
		if !ok {
			return
		}
		g.task(w, t)
		g.tasks.finish()
	}
}

// task computes one block of C. For each pass along K it packs the block of B, and all rows of A
// run past it.
func (g *product[T]) task(w *workspace[T], t tile) {
	if g.beta != 0 && !t.begun {
		scale(g.c[t.row*g.ldc+t.col:], g.ldc, t.rows, t.cols, g.beta)
	}
	for l := t.from; l < g.k; l += g.blocking.kc {
		depth := min(g.blocking.kc, g.k-l)
		g.packB(w, l, depth, t)
		w.strip.k, w.strip.add = depth, l > 0 || g.beta != 0
		for i := t.row; i < t.row+t.rows; i += g.kernel.mr {
			g.strip(w, t, i, l, depth)
			if g.tasks.wanted.Load() {
				t = g.tasks.share(t, i+g.kernel.mr, l)
			}
		}
	}
}

// strip computes the rows of C from i on, at most mr, for one pass.
func (g *product[T]) strip(w *workspace[T], t tile, i, l, depth int) {
	mr, nr := g.kernel.mr, g.kernel.nr
	rows := min(mr, t.row+t.rows-i)
	s, whole, rest := &w.strip, t.cols/nr, t.cols%nr
	ahead := 0
	if i+mr+mr <= t.row+t.rows {
		ahead = max(1, whole)
	}
	g.placeA(w, i, rows, l, depth, ahead)
	if whole > 0 {
		s.panels, s.b = whole, w.b
		g.tiles(w, g.kernel.multiply, whole*nr, i, t.col, rows, whole*nr)
	}
	if rest > 0 {
		width, multiply := g.kernel.last(rest)
		s.panels, s.b = 1, w.b[whole*nr*depth:]
		g.tiles(w, multiply, width, i, t.col+whole*nr, rows, rest)
	}
}

// tiles computes rows x cols of C from (i, j) on, with a kernel for mr x width. A part that does
// not fill whole tiles is computed in the workspace, and its valid elements are then moved into C.
// The products of the padding of A and B are dropped, so that an infinity reaches only its row and
// column.
func (g *product[T]) tiles(w *workspace[T], multiply func(*strip[T]), width, i, j, rows, cols int) {
	s := &w.strip
	if rows == g.kernel.mr && cols == width {
		s.c, s.ldc = g.c[i*g.ldc+j:], g.ldc
		multiply(s)
		return
	}
	s.c, s.ldc = w.c, width
	add := s.add
	s.add = false
	multiply(s)
	s.add = add
	for r := range rows {
		from := w.c[r*width:][:cols]
		to := g.c[(i+r)*g.ldc+j:][:cols]
		if !add {
			copy(to, from)
			continue
		}
		for j, v := range from {
			to[j] += v
		}
	}
}

package blas

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// Options say how a product is computed. The zero value is the best way.
type Options struct {
	// ISA is Best where it is empty. One that the machine lacks panics.
	ISA ISA
	// Threads is the number of goroutines that compute, GOMAXPROCS where it is 0.
	// Small products take fewer.
	Threads int
}

// Gemm computes C = alpha op(A) op(B) + beta C for row-major matrices: op(A) is
// m x k, op(B) is k x n and C is m x n. op(X) is X or, with trans, its
// transpose: then a holds k rows of m elements, and b n rows of k. Row i of a
// begins at a[i*lda]; gaps between rows are neither read nor written.
//
// As in BLAS, C is not read where beta is 0, and A and B are not where alpha or
// k is. Everywhere else NaN and infinities propagate as in the sum written out.
// C must not overlap A or B. Each element of C is a sum of at most k products and
// the rounding of each depends on the shape alone, not on the threads.
//
// Shapes that do not fit the slices panic.
func Gemm[T Float](transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int, o Options) {
	if fault := misfit(transA, transB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc); fault != "" {
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

// complete fills in what was left to this package.
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

// misfit says what is wrong with the shapes, "" where nothing is.
func misfit(transA, transB bool, m, n, k, lenA, lda, lenB, ldb, lenC, ldc int) string {
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

// scale multiplies C by beta, and does not read it where that is 0.
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

// run computes all tasks on as many goroutines as there may be. None waits for
// another before all blocks of C are taken.
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

func (g *product[T]) work() {
	if g.blocking.threads < runtime.GOMAXPROCS(0) && float64(g.m)*float64(g.n)*float64(g.k) >= lockedWork {
		// A goroutine that is interrupted after its 10 ms continues wherever a processor of the
		// runtime is idle, on a core with nothing of its block of B in the cache. A
		// thread stays; with no processor idle so does the goroutine, and for less.
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

// tile computes one block of C: for each block along K, the block of B is packed
// and all rows of A run past it.
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

// strip computes the rows of C from i on, at most mr.
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

// tiles computes rows x cols of C from (i, j) on, with a kernel for mr x width. What
// does not fill its tiles goes into tiles of its own, whose valid part is then moved
// into C: what the padding of A and B multiplies to is dropped, so that an infinity
// reaches its row and column and nothing else.
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

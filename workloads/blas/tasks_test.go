package blas

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// TestParts checks that a product of a single block, parts of which go to three waiting goroutines
// before its first strip, equals the product of one goroutine to the last bit.
func TestParts(t *testing.T) {
	t.Run("float64", testParts[float64])
	t.Run("float32", testParts[float32])
}

func testParts[T Float](t *testing.T) {
	const m, n, k = 1500, 45, 1000
	rng := rand.New(rand.NewPCG(1, 2))
	for _, transA := range []bool{false, true} {
		for _, beta := range []T{0, 1, 0.5} {
			a, b, c := newOperand[T](rng, m, k, 0, 0), newOperand[T](rng, k, n, 0, 0), newOperand[T](rng, m, n, 0, 0)
			if transA {
				a = newOperand[T](rng, k, m, 0, 0)
			}
			compute := func(threads int) ([]T, *tasks) {
				out := slices.Clone(c.data)
				g := &product[T]{kernel: kernelFor[T](Best()), m: m, n: n, k: k, alpha: 0.5, beta: beta,
					a: a.data, lda: a.ld, transA: transA, b: b.data, ldb: b.ld, c: out, ldc: c.ld}
				g.blocking = block(g.kernel.mr, g.kernel.nr, m, n, k, size[T](), 1, cacheBytes())
				if g.blocking.tasks() != 1 {
					t.Fatalf("%+v: more than one block", g.blocking)
				}
				g.blocking.threads = threads
				multiply, once := g.kernel.multiply, sync.Once{}
				g.kernel.multiply = func(s *strip[T]) {
					once.Do(func() {
						for threads > 1 && !g.tasks.wanted.Load() {
							runtime.Gosched()
						}
					})
					multiply(s)
				}
				g.run()
				return out, g.tasks
			}
			want, _ := compute(1)
			for range 5 {
				got, tasks := compute(4)
				if cap(tasks.parts) == 0 {
					t.Fatalf("transposed %v, beta %v: no part was given away", transA, beta)
				}
				if tasks.working != 0 || tasks.waiting != 0 || len(tasks.parts) != 0 {
					t.Fatalf("at the end %d work, %d wait and %d parts are left", tasks.working, tasks.waiting, len(tasks.parts))
				}
				for i := range want {
					if pattern(got[i]) != pattern(want[i]) {
						t.Fatalf("transposed %v, beta %v: element %d is %v in parts, %v in one", transA, beta, i, got[i], want[i])
					}
				}
			}
		}
	}
}

package blas

import (
	"sync"
	"unsafe"
)

// workspace is the memory that one goroutine packs into. Later products reuse it.
type workspace[T Float] struct {
	strip strip[T]
	// b is a block of B, a one panel of A, c one strip of C.
	a, b, c []T
}

// vectorBytes is the widest vector. Panels of B begin at multiples of it, so that their loads do
// not cross cache lines.
const vectorBytes = 64

var workspaces64, workspaces32 sync.Pool

func pool[T Float]() *sync.Pool {
	if size[T]() == 8 {
		return &workspaces64
	}
	return &workspaces32
}

func size[T Float]() int { return int(unsafe.Sizeof(T(0))) }

// WorkspaceBytes is the memory in bytes that a product of m x k by k x n packs into, in addition to
// its operands. It is kept for later products.
func WorkspaceBytes[T Float](m, n, k int, o Options) int64 {
	if m == 0 || n == 0 || k == 0 {
		return 0
	}
	o = o.complete()
	kernel := kernelFor[T](o.ISA)
	b := block(kernel.mr, kernel.nr, m, n, k, size[T](), o.Threads, cacheBytes())
	return int64(b.workspaceBytes(kernel.mr, kernel.nr, size[T]()))
}

// workspaceBytes is the memory that all goroutines of a product pack into.
func (b blocking) workspaceBytes(mr, nr, size int) int {
	forA, forB, forC := b.elements(mr, nr)
	return b.threads * ((forA+forB+forC)*size + 3*vectorBytes)
}

// elements is the number of elements of each operand in one workspace.
func (b blocking) elements(mr, nr int) (forA, forB, forC int) {
	cols := b.panels * nr
	return mr * b.kc, cols * b.kc, mr * cols
}

// takeWorkspace returns a workspace of the blocking's size, from the pool if it has one. The caller
// returns it with giveWorkspace.
func takeWorkspace[T Float](b blocking, mr, nr int) *workspace[T] {
	w, ok := pool[T]().Get().(*workspace[T])
	if !ok {
		w = new(workspace[T])
	}
	forA, forB, forC := b.elements(mr, nr)
	w.a, w.b, w.c = resize(w.a, forA), resize(w.b, forB), resize(w.c, forC)
	return w
}

// giveWorkspace returns a workspace to the pool. It drops the references to the operands, which the
// pool would keep alive.
func giveWorkspace[T Float](w *workspace[T]) {
	w.strip = strip[T]{}
	pool[T]().Put(w)
}

// resize returns n elements of the buffer, or a new aligned one if it is too small.
func resize[T Float](buffer []T, n int) []T {
	if cap(buffer) >= n {
		return buffer[:n]
	}
	return aligned[T](n)
}

// aligned returns n elements that begin at a multiple of vectorBytes.
func aligned[T Float](n int) []T {
	whole := make([]T, n+vectorBytes/size[T]())
	off := int(uintptr(unsafe.Pointer(&whole[0])) % vectorBytes)
	if off > 0 {
		off = (vectorBytes - off) / size[T]()
	}
	return whole[off:][:n:n]
}

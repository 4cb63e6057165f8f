package blas

import (
	"sync"
	"unsafe"
)

// workspace is what one goroutine packs into. It is reused by later products.
type workspace[T Float] struct {
	strip strip[T]
	// b holds a block of B, a one panel of A, c one strip of C.
	a, b, c []T
}

// vectorBytes is the widest vector: panels of B begin at multiples of it, so that
// no load of theirs crosses a cache line.
const vectorBytes = 64

var workspaces64, workspaces32 sync.Pool

func pool[T Float]() *sync.Pool {
	if size[T]() == 8 {
		return &workspaces64
	}
	return &workspaces32
}

func size[T Float]() int { return int(unsafe.Sizeof(T(0))) }

func takeWorkspace[T Float](b blocking, mr, nr int) *workspace[T] {
	w, ok := pool[T]().Get().(*workspace[T])
	if !ok {
		w = new(workspace[T])
	}
	cols := b.panels * nr
	w.a, w.b, w.c = resize(w.a, mr*b.kc), resize(w.b, cols*b.kc), resize(w.c, mr*cols)
	return w
}

// giveWorkspace lets go of the operands, or the pool would keep them alive.
func giveWorkspace[T Float](w *workspace[T]) {
	w.strip = strip[T]{}
	pool[T]().Put(w)
}

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

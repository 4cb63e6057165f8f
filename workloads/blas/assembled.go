//go:build amd64 || arm64

package blas

import "unsafe"

// multiplyInPlace and multiplyPacked are the signatures of the assembly kernels. The first reads
// the rows of A in place, rs bytes apart; the second reads packed A.
type (
	multiplyInPlace[T Float] func(k, panels int, a *T, rs uintptr, b, c *T, ldc uintptr, alpha *T, add bool, next *T,
		step, jump, also uintptr)
	multiplyPacked[T Float] func(k, panels int, a *T, b, c *T, ldc uintptr, alpha *T, add bool, next *T, step, jump,
		also uintptr)
)

// assembled makes a kernel for tiles of mr x nr from a pair of assembly functions. It checks the
// slices and converts distances from elements to bytes.
func assembled[T Float](mr, nr int, inPlace multiplyInPlace[T], packed multiplyPacked[T]) func(*strip[T]) {
	bytes := unsafe.Sizeof(T(0))
	return func(s *strip[T]) {
		s.check(mr, nr)
		ldc, step, jump, also := bytes*uintptr(s.ldc), bytes*uintptr(s.step), bytes*uintptr(s.jump),
			bytes*uintptr(s.also)
		if s.packed {
			packed(s.k, s.panels, &s.a[0], &s.b[0], &s.c[0], ldc, &s.alpha, s.add, &s.next[0], step, jump, also)
			return
		}
		inPlace(s.k, s.panels, &s.a[0], bytes*uintptr(s.lda), &s.b[0], &s.c[0], ldc, &s.alpha, s.add, &s.next[0], step,
			jump, also)
	}
}

// packPanels packs panels of width bytes with a function of the assembly. It first touches the last
// elements, so that a short slice panics.
func packPanels[T Float](pack func(dst, src *byte, ld uintptr, k, panels int, gap uintptr), width int, dst, src []T, ld,
	k, panels int) {
	nr := width / size[T]()
	_, _ = dst[k*panels*nr-1], src[(k-1)*ld+panels*nr-1]
	pack((*byte)(unsafe.Pointer(&dst[0])), (*byte)(unsafe.Pointer(&src[0])), uintptr(ld*size[T]()), k, panels,
		uintptr(k*width))
}

// transposeFloat64 is kernel.transpose with the assembly for whole blocks of 4 columns.
func transposeFloat64(dst []float64, gap int, src []float64, ld, k int) {
	whole := k &^ 3
	if whole > 0 {
		_, _ = dst[(whole-1)*gap+3], src[3*ld+whole-1]
		transposeF64(&dst[0], 8*uintptr(gap), &src[0], 8*uintptr(ld), whole/4)
	}
	transposeFrom(whole, dst, gap, src, ld, k)
}

// transposeFloat32 is kernel.transpose with the assembly for whole blocks of 4 columns.
func transposeFloat32(dst []float32, gap int, src []float32, ld, k int) {
	whole := k &^ 3
	if whole > 0 {
		_, _ = dst[(whole-1)*gap+3], src[3*ld+whole-1]
		transposeF32(&dst[0], 4*uintptr(gap), &src[0], 4*uintptr(ld), whole/4)
	}
	transposeFrom(whole, dst, gap, src, ld, k)
}

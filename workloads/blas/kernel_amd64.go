package blas

import "unsafe"

// assembly returns the kernel for the type, if there is one.
func assembly[T Float](isa ISA) (kernel[T], bool) {
	var found any
	switch any(T(0)).(type) {
	case float64:
		found = map[ISA]kernel[float64]{AVX512: avx512Float64, AVX2: avx2Float64}[isa]
	case float32:
		found = map[ISA]kernel[float32]{AVX512: avx512Float32, AVX2: avx2Float32}[isa]
	}
	k, ok := found.(kernel[T])
	return k, ok && k.mr > 0
}

var (
	avx512Float64 = kernel[float64]{mr: 8, nr: 24, transpose: transposeFloat64, packRows: packAVX512[float64],
		multiply: assembled(8, 24, multiplyF64AVX512, multiplyF64AVX512Packed),
		narrow:   []func(*strip[float64]){assembled(8, 8, multiplyF64AVX512x1, multiplyF64AVX512x1Packed), assembled(8, 16, multiplyF64AVX512x2, multiplyF64AVX512x2Packed)}}
	avx512Float32 = kernel[float32]{mr: 8, nr: 48, transpose: transposeFloat32, packRows: packAVX512[float32],
		multiply: assembled(8, 48, multiplyF32AVX512, multiplyF32AVX512Packed),
		narrow:   []func(*strip[float32]){assembled(8, 16, multiplyF32AVX512x1, multiplyF32AVX512x1Packed), assembled(8, 32, multiplyF32AVX512x2, multiplyF32AVX512x2Packed)}}
	avx2Float64 = kernel[float64]{mr: 4, nr: 12, transpose: transposeFloat64, packRows: packAVX2[float64],
		multiply: assembled(4, 12, multiplyF64AVX2, multiplyF64AVX2Packed),
		narrow:   []func(*strip[float64]){assembled(4, 4, multiplyF64AVX2x1, multiplyF64AVX2x1Packed), assembled(4, 8, multiplyF64AVX2x2, multiplyF64AVX2x2Packed)}}
	avx2Float32 = kernel[float32]{mr: 4, nr: 24, transpose: transposeFloat32, packRows: packAVX2[float32],
		multiply: assembled(4, 24, multiplyF32AVX2, multiplyF32AVX2Packed),
		narrow:   []func(*strip[float32]){assembled(4, 8, multiplyF32AVX2x1, multiplyF32AVX2x1Packed), assembled(4, 16, multiplyF32AVX2x2, multiplyF32AVX2x2Packed)}}
)

// multiplyInPlace and multiplyPacked are functions of the assembly, for A whose rows lie
// in memory as they are, and for packed A.
type (
	multiplyInPlace[T Float] func(k, panels int, a *T, rs uintptr, b, c *T, ldc uintptr, alpha *T, add bool, next *T, step, jump uintptr)
	multiplyPacked[T Float]  func(k, panels int, a *T, b, c *T, ldc uintptr, alpha *T, add bool, next *T, step, jump uintptr)
)

// assembled is a pair of functions as a kernel for tiles of mr x nr.
func assembled[T Float](mr, nr int, inPlace multiplyInPlace[T], packed multiplyPacked[T]) func(*strip[T]) {
	bytes := unsafe.Sizeof(T(0))
	return func(s *strip[T]) {
		s.check(mr, nr)
		ldc, step, jump := bytes*uintptr(s.ldc), bytes*uintptr(s.step), bytes*uintptr(s.jump)
		if s.packed {
			packed(s.k, s.panels, &s.a[0], &s.b[0], &s.c[0], ldc, &s.alpha, s.add, &s.next[0], step, jump)
			return
		}
		inPlace(s.k, s.panels, &s.a[0], bytes*uintptr(s.lda), &s.b[0], &s.c[0], ldc, &s.alpha, s.add, &s.next[0], step, jump)
	}
}

// packAVX512 packs panels that are 192 bytes wide, packAVX2 those of 96.
func packAVX512[T Float](dst, src []T, ld, k, panels int) {
	size := int(unsafe.Sizeof(T(0)))
	nr := 192 / size
	_, _ = dst[k*panels*nr-1], src[(k-1)*ld+panels*nr-1]
	packRowsAVX512((*byte)(unsafe.Pointer(&dst[0])), (*byte)(unsafe.Pointer(&src[0])), uintptr(ld*size), k, panels, uintptr(k*192))
}

func packAVX2[T Float](dst, src []T, ld, k, panels int) {
	size := int(unsafe.Sizeof(T(0)))
	nr := 96 / size
	_, _ = dst[k*panels*nr-1], src[(k-1)*ld+panels*nr-1]
	packRowsAVX2((*byte)(unsafe.Pointer(&dst[0])), (*byte)(unsafe.Pointer(&src[0])), uintptr(ld*size), k, panels, uintptr(k*96))
}

func transposeFloat64(dst []float64, gap int, src []float64, ld, k int) {
	whole := k &^ 3
	if whole > 0 {
		_, _ = dst[(whole-1)*gap+3], src[3*ld+whole-1]
		transposeF64(&dst[0], 8*uintptr(gap), &src[0], 8*uintptr(ld), whole/4)
	}
	transposeFrom(whole, dst, gap, src, ld, k)
}

func transposeFloat32(dst []float32, gap int, src []float32, ld, k int) {
	whole := k &^ 3
	if whole > 0 {
		_, _ = dst[(whole-1)*gap+3], src[3*ld+whole-1]
		transposeF32(&dst[0], 4*uintptr(gap), &src[0], 4*uintptr(ld), whole/4)
	}
	transposeFrom(whole, dst, gap, src, ld, k)
}

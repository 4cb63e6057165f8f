package blas

// assembly returns the kernel of the instruction set for the type, if it has one.
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
		narrow: []func(*strip[float64]){assembled(8, 8, multiplyF64AVX512x1, multiplyF64AVX512x1Packed),
			assembled(8, 16, multiplyF64AVX512x2, multiplyF64AVX512x2Packed)}}
	avx512Float32 = kernel[float32]{mr: 8, nr: 48, transpose: transposeFloat32, packRows: packAVX512[float32],
		multiply: assembled(8, 48, multiplyF32AVX512, multiplyF32AVX512Packed),
		narrow: []func(*strip[float32]){assembled(8, 16, multiplyF32AVX512x1, multiplyF32AVX512x1Packed),
			assembled(8, 32, multiplyF32AVX512x2, multiplyF32AVX512x2Packed)}}
	avx2Float64 = kernel[float64]{mr: 4, nr: 12, transpose: transposeFloat64, packRows: packAVX2[float64],
		multiply: assembled(4, 12, multiplyF64AVX2, multiplyF64AVX2Packed),
		narrow: []func(*strip[float64]){assembled(4, 4, multiplyF64AVX2x1, multiplyF64AVX2x1Packed),
			assembled(4, 8, multiplyF64AVX2x2, multiplyF64AVX2x2Packed)}}
	avx2Float32 = kernel[float32]{mr: 4, nr: 24, transpose: transposeFloat32, packRows: packAVX2[float32],
		multiply: assembled(4, 24, multiplyF32AVX2, multiplyF32AVX2Packed),
		narrow: []func(*strip[float32]){assembled(4, 8, multiplyF32AVX2x1, multiplyF32AVX2x1Packed),
			assembled(4, 16, multiplyF32AVX2x2, multiplyF32AVX2x2Packed)}}
)

// packAVX512 packs panels that are 192 bytes wide, packAVX2 those of 96.
func packAVX512[T Float](dst, src []T, ld, k, panels int) {
	packPanels(packRowsAVX512, 192, dst, src, ld, k, panels)
}

func packAVX2[T Float](dst, src []T, ld, k, panels int) {
	packPanels(packRowsAVX2, 96, dst, src, ld, k, panels)
}

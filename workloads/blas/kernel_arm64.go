package blas

// assembly returns the kernel of the instruction set for the type, if it has one.
func assembly[T Float](isa ISA) (kernel[T], bool) {
	if isa != NEON {
		return kernel[T]{}, false
	}
	var found any = neonFloat64
	if size[T]() == 4 {
		found = neonFloat32
	}
	k, ok := found.(kernel[T])
	return k, ok
}

var (
	neonFloat64 = kernel[float64]{mr: 4, nr: 12, transpose: transposeFloat64, packRows: packNEON[float64],
		multiply: assembled(4, 12, multiplyF64NEON, multiplyF64NEONPacked),
		narrow: []func(*strip[float64]){assembled(4, 4, multiplyF64NEONx1, multiplyF64NEONx1Packed),
			assembled(4, 8, multiplyF64NEONx2, multiplyF64NEONx2Packed)}}
	neonFloat32 = kernel[float32]{mr: 4, nr: 24, transpose: transposeFloat32, packRows: packNEON[float32],
		multiply: assembled(4, 24, multiplyF32NEON, multiplyF32NEONPacked),
		narrow: []func(*strip[float32]){assembled(4, 8, multiplyF32NEONx1, multiplyF32NEONx1Packed),
			assembled(4, 16, multiplyF32NEONx2, multiplyF32NEONx2Packed)}}
)

// packNEON packs panels that are 96 bytes wide.
func packNEON[T Float](dst, src []T, ld, k, panels int) {
	packPanels(packRowsNEON, 96, dst, src, ld, k, panels)
}

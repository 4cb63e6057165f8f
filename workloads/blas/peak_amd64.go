package blas

// assemblyPeak returns the loop of an instruction set (nil if it has none), the number of its sums,
// and the bytes of the vector that it reads and overwrites with its sums.
func assemblyPeak[T Float](isa ISA) (loop func(rounds int, x *T), chains, bytes int) {
	var found any
	switch any(T(0)).(type) {
	case float64:
		found = map[ISA]func(int, *float64){AVX512: peakF64AVX512, AVX2: peakF64AVX2}[isa]
	case float32:
		found = map[ISA]func(int, *float32){AVX512: peakF32AVX512, AVX2: peakF32AVX2}[isa]
	}
	loop, _ = found.(func(int, *T))
	return loop, 12, map[ISA]int{AVX512: 64, AVX2: 32}[isa]
}

package blas

// assemblyPeak returns the loop of an instruction set (nil if it has none), the number of its sums,
// and the bytes of the vector that it reads and overwrites with its sums.
func assemblyPeak[T Float](isa ISA) (loop func(rounds int, x *T), chains, bytes int) {
	if isa != NEON {
		return nil, 0, 0
	}
	var found any = peakF64NEON
	if size[T]() == 4 {
		found = peakF32NEON
	}
	loop, _ = found.(func(int, *T))
	return loop, 24, 16
}

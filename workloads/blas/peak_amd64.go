package blas

// assemblyPeak returns the loop of an instruction set, nil where it has none,
// and the vector that it reads and leaves its sums in.
func assemblyPeak[T Float](isa ISA) (loop func(rounds int), sums []T) {
	width := map[ISA]int{AVX512: 64, AVX2: 32}[isa] / size[T]()
	if width == 0 {
		return nil, nil
	}
	sums = aligned[T](width)
	var run func(rounds int)
	switch x := any(sums).(type) {
	case []float64:
		run = func(rounds int) { peakF64AVX2(rounds, &x[0]) }
		if isa == AVX512 {
			run = func(rounds int) { peakF64AVX512(rounds, &x[0]) }
		}
	case []float32:
		run = func(rounds int) { peakF32AVX2(rounds, &x[0]) }
		if isa == AVX512 {
			run = func(rounds int) { peakF32AVX512(rounds, &x[0]) }
		}
	}
	return func(rounds int) {
		for i := range sums {
			sums[i] = 0x1p-20 // small, so that the sums stay finite
		}
		run(rounds)
	}, sums
}

package blas

// assemblyPeak returns the loop of an instruction set and the elements of its
// vectors, nil where it has none.
func assemblyPeak[T Float](isa ISA) (loop func(rounds int), width int) {
	if isa != AVX512 && isa != AVX2 {
		return nil, 0
	}
	width = 32 / size[T]()
	if isa == AVX512 {
		width *= 2
	}
	// A small number, whose sums of squares stay finite.
	x := aligned[T](width)
	spoil := func() {
		for i := range x {
			x[i] = 1e-6
		}
	}
	switch x := any(x).(type) {
	case []float64:
		run := peakF64AVX2
		if isa == AVX512 {
			run = peakF64AVX512
		}
		return func(rounds int) { spoil(); run(rounds, &x[0]) }, width
	case []float32:
		run := peakF32AVX2
		if isa == AVX512 {
			run = peakF32AVX512
		}
		return func(rounds int) { spoil(); run(rounds, &x[0]) }, width
	}
	return nil, 0
}

package main

// spread fills a register with copies of a 32-bit parameter.
func (f file) spread(name string, to int) {
	f.Line("MOVWU %s, R8", f.Parameter(name))
	f.Line("VDUP R8, V%d.S4", to)
}

// rightShift fills a register with the negated parameter: NEON shifts to the right by negative
// counts.
func (f file) rightShift(name, arrangement string, to int) {
	f.Line("MOVD %s, R8", f.Parameter(name))
	f.Line("NEG R8, R8")
	f.Line("VDUP R8, V%d.%s", to, arrangement)
}

// scaleWords writes the 16-bit variant of scale, which needs fewer instructions. Not every factor
// and offset has one.
func (f file) scaleWords() {
	f.Function("scaleWordsNEON", "dst, src *byte, n int, factor, more, less uint32, shift uint64",
		"scaleWordsNEON computes n bytes, a multiple of 32: sample*factor/256 + more - less, each step cut to 0..65535, shifted right and cut to 255. Either half of the 32 bits holds the 16-bit number.")
	f.Parameters("dst", "src", "n")
	const factor, more, less, shift = 16, 17, 18, 19 // registers
	f.spread("factor", factor)
	f.spread("more", more)
	f.spread("less", less)
	f.rightShift("shift", "H8", shift)
	f.loop("samples", 2, block/2, func() {
		f.Line("FMOVQ (R1), F0")
		f.Line("ADD $%d, R1", block/2)
		f.widen(0, 1, 2)
		// Each half: the product of 32 bits, its upper 24, and saturating steps on words.
		for half, arrangement := range []string{"8b", "16b"} {
			samples, words := 1+half, 5+half
			f.Long("umull", "4h", 3, samples, factor)
			f.Long("umull", "8h", 4, samples, factor)
			f.NarrowShift("shrn", "4h", words, 3, 8)
			f.NarrowShift("shrn", "8h", words, 4, 8)
			f.Same("uqadd", "8h", words, words, more)
			f.Same("uqsub", "8h", words, words, less)
			f.Same("ushl", "8h", words, words, shift)
			f.Narrow("uqxtn", arrangement, 7, words)
		}
		f.Line("FMOVQ F7, (R0)")
		f.Line("ADD $%d, R0", block/2)
	})
	f.Line("RET")
}

// linear writes the part that scale and toFloat share. It loads a register of samples and computes
// four registers of sample*factor + offset as float32, from V4 on.
func (f file) linear(factor, offset int) {
	f.Line("FMOVQ (R1), F0")
	f.Line("ADD $%d, R1", block/2)
	f.widen(0, 1, 2)
	for i := range 4 {
		samples := 1 + i/2
		if i%2 == 0 {
			f.Line("VUXTL V%d.H4, V3.S4", samples)
		} else {
			f.Line("VUXTL2 V%d.H8, V3.S4", samples)
		}
		f.Convert("ucvtf", 3, 3)
		// The offset is the start of the sum: VFMLA adds to its destination.
		f.Line("VORR V%d.B16, V%d.B16, V%d.B16", offset, offset, 4+i)
		f.Line("VFMLA V%d.S4, V3.S4, V%d.S4", factor, 4+i)
	}
}

// scale writes the function that computes bytes in float32.
func (f file) scale() {
	f.Function("scaleNEON", "dst, src *byte, n int, factor, offset float32",
		"scaleNEON computes n bytes, a multiple of 32: sample*factor + offset as one float32, cut to 0..255 and to an integer.")
	f.Parameters("dst", "src", "n")
	const factor, offset = 16, 17
	f.spread("factor", factor)
	f.spread("offset", offset)
	f.loop("samples", 2, block/2, func() {
		f.linear(factor, offset)
		// Towards zero, then saturated to words and to bytes.
		for i := range 4 {
			f.Convert("fcvtzs", 4+i, 4+i)
			f.Narrow("sqxtn", []string{"4h", "8h"}[i%2], 8+i/2, 4+i)
		}
		for half, arrangement := range []string{"8b", "16b"} {
			f.Narrow("sqxtun", arrangement, 0, 8+half)
		}
		f.Line("FMOVQ F0, (R0)")
		f.Line("ADD $%d, R0", block/2)
	})
	f.Line("RET")
}

// toFloat writes the function that computes float32s.
func (f file) toFloat() {
	f.Function("toFloatNEON", "dst, src *byte, n int, factor, offset float32",
		"toFloatNEON computes n samples, a multiple of 32: sample*factor + offset as float32.")
	f.Parameters("dst", "src", "n")
	const factor, offset = 16, 17
	f.spread("factor", factor)
	f.spread("offset", offset)
	f.loop("samples", 2, block/2, func() {
		f.linear(factor, offset)
		f.Store(0, 0, 4, 4)
		f.Line("ADD $%d, R0", 2*block)
	})
	f.Line("RET")
}

package main

// flip writes the function that makes levels signed by subtracting 128.
func (f file) flip() {
	f.Function("flipNEON", "out, pix *byte, ahead uintptr, n int",
		"flipNEON writes pix[i] - 128 to out for n bytes, a multiple of 32, and prefetches the bytes ahead of them.")
	f.Parameters("out", "pix", "ahead", "n")
	f.Line("VMOVI $0x80, V2.B16")
	f.loop("columns", 3, block, func() {
		f.Line("ADD R2, R1, R4")
		f.Line("PRFM (R4), PLDL1KEEP")
		f.Load(1, 0, 0, 2)
		for i := range 2 {
			f.Line("VEOR V2.B16, V%d.B16, V%d.B16", i, i)
		}
		f.Store(0, 0, 0, 2)
		f.Line("ADD $%d, R1", block)
		f.Line("ADD $%d, R0", block)
	})
	f.Line("RET")
}

// weight is the register with the weight of a term in all words.
const weight = 31

// term adds words times the weight, rounded, to a sum. It overwrites words.
func (f file) term(words, sum int) {
	f.Same("sqrdmulh", "8h", words, words, weight)
	f.Line("VADD V%d.H8, V%d.H8, V%d.H8", words, sum, sum)
}

// gaussianAlong writes the first pass: along a line of signed levels, to words in units of 1/128
// level.
func (f file) gaussianAlong() {
	f.Function("gaussianAlongNEON", "out *int16, line *byte, weights *int32, terms, step, n int",
		"gaussianAlongNEON computes n words of out, a multiple of 32. Term k is line[i-k*step] + line[i+k*step], times weight k in units of 2^-15, rounded. Both halves of a weight's element are equal.")
	f.Parameters("out", "line", "weights", "terms", "step", "n")
	f.widths(5, 2, func(blocks int, suffix string) {
		f.Clear(0, 4*blocks)
		for i, from := range []int{1, 1, 2, 3} { // left, right, weights, terms
			f.Line("MOVD R%d, R%d", from, 6+i)
		}
		f.loop("terms"+suffix, 9, 1, func() {
			f.Line("VLD1R.P 4(R8), [V%d.S4]", weight)
			// left + right as words in units of 1/128, times the weight.
			for i := range blocks {
				f.Load(6, i*block, 16, 2)
				f.Load(7, i*block, 18, 2)
				for j := range 4 {
					arrangement, words := []string{"8b", "16b"}[j%2], 20+j
					f.Long("saddl", arrangement, words, 16+j/2, 18+j/2)
					f.Line("VSHL $7, V%d.H8, V%d.H8", words, words)
					f.term(words, 4*i+j)
				}
			}
			// Left and right move away from the centre.
			f.Line("SUB R4, R6")
			f.Line("ADD R4, R7")
		})
		f.Store(0, 0, 0, 4*blocks)
		f.Line("ADD $%d, R0", 2*blocks*block)
		f.Line("ADD $%d, R1", blocks*block)
	})
}

// gaussianDown writes the second pass: down the columns of words, to levels.
func (f file) gaussianDown() {
	f.Function("gaussianDownNEON", "out *byte, rows **int16, weights *int32, terms, x, n int",
		"gaussianDownNEON computes n bytes of out, a multiple of 32, from the words x and on of rows. rows points to the middle one: term k is the sum of the rows k before and k after it, times weight k.")
	f.Parameters("out", "rows", "weights", "terms", "x", "n")
	f.Line("VMOVI $0x80, V30.B16")
	f.Line("LSL $1, R4")
	f.widths(5, 2, func(blocks int, suffix string) {
		f.Clear(0, 4*blocks)
		for i, from := range []int{1, 1, 2, 3} { // up, down, weights, terms
			f.Line("MOVD R%d, R%d", from, 6+i)
		}
		f.loop("terms"+suffix, 9, 1, func() {
			// The pointers to the rows k above and k below, then their words from x on.
			f.Line("MOVD.P -8(R6), R10")
			f.Line("MOVD.P 8(R7), R11")
			f.Line("ADD R4, R10")
			f.Line("ADD R4, R11")
			f.Line("VLD1R.P 4(R8), [V%d.S4]", weight)
			for i := range 4 * blocks {
				if i%2 == 0 {
					f.Load(10, 16*i, 16, 2)
					f.Load(11, 16*i, 18, 2)
				}
				words := 20 + i%4
				f.Line("VADD V%d.H8, V%d.H8, V%d.H8", 16+i%2, 18+i%2, words)
				f.term(words, i)
			}
		})
		// Round and narrow to signed levels, and add the 128 again.
		for i := range 2 * blocks {
			f.NarrowShift("sqrshrn", "8b", i, 2*i, 7)
			f.NarrowShift("sqrshrn", "16b", i, 2*i+1, 7)
			f.Line("VEOR V30.B16, V%d.B16, V%d.B16", i, i)
		}
		f.Store(0, 0, 0, 2*blocks)
		f.Line("ADD $%d, R0", blocks*block)
		f.Line("ADD $%d, R4", 2*blocks*block)
	})
}

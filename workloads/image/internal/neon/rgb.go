package main

// luma writes the function of the weighted sum of each pixel's three bytes.
func (f file) luma() {
	f.Function("lumaNEON", "out, pix *byte, ahead uintptr, n int",
		"lumaNEON computes n pixels, a multiple of 32: (77 R + 150 G + 29 B + 128) / 256. The memory ahead bytes from the pixels is prefetched.")
	f.Parameters("out", "pix", "ahead", "n")
	weights := []int{77, 150, 29}
	for i, w := range weights {
		f.Line("VMOVI $%d, V%d.B16", w, 16+i)
	}
	f.loop("pixels", 3, block/2, func() {
		f.Line("ADD R2, R1, R4")
		f.Line("PRFM (R4), PLDL2KEEP")
		// VLD3 separates the channels of 16 pixels.
		f.Line("VLD3.P 48(R1), [V0.B16, V1.B16, V2.B16]")
		for half, arrangement := range []string{"8b", "16b"} {
			for i := range weights {
				name := "umlal"
				if i == 0 {
					name = "umull"
				}
				f.Long(name, arrangement, 4+half, i, 16+i)
			}
			f.NarrowShift("rshrn", arrangement, 6, 4+half, 8)
		}
		f.Line("FMOVQ F6, (R0)")
		f.Line("ADD $%d, R0", block/2)
	})
	f.Line("RET")
}

// sobel writes the function that computes two rows of edges from four lines of luma. With the sums B of 2x2 pixels,
// B(right, below) - B(left, above) is half the sum of the gradients and B(right, above) -
// B(left, below) half their difference, and |gx| + |gy| is the maximum of |gx + gy|
// and |gx - gy|.
func (f file) sobel() {
	f.Function("sobelNEON", "out, outBelow, above, below *byte, apart uintptr, n int",
		"sobelNEON computes n pixels, a multiple of 32, of two rows: |gx| + |gy|, at most 255. Two lines of luma begin at above and two at below, apart bytes from each other, with one more pixel at each end.")
	f.Parameters("out", "outBelow", "above", "below", "apart", "n")
	f.Comment("The four lines begin at R2, R6, R3 and R7, and one pixel earlier.")
	f.Line("SUB $1, R2")
	f.Line("SUB $1, R3")
	f.Line("ADD R4, R2, R6")
	f.Line("ADD R4, R3, R7")
	lines := []int{2, 6, 3, 7}
	f.loop("pixels", 5, block/2, func() {
		// Of each line the sums of two neighbours: from the left and to the right, of
		// eight pixels and the next eight. Three of them are needed at a time.
		pairs := func(line int) int { return 4 * (line % 2) }
		sums := func(line int) int { return 8 + 4*(line%2) } // of a line and the one before
		for i, line := range lines {
			for at := range 3 {
				f.Line("ADD $%d, R%d, R8", at, line)
				f.Line("FMOVQ (R8), F%d", 16+at)
			}
			f.Line("ADD $%d, R%d", block/2, line)
			for side := range 2 {
				f.Long("uaddl", "8b", pairs(i)+2*side, 16+side, 17+side)
				f.Long("uaddl", "16b", pairs(i)+2*side+1, 16+side, 17+side)
			}
			if i == 0 { // two lines make the first sums, three the first edges
				continue
			}
			for j := range 4 {
				f.Line("VADD V%d.H8, V%d.H8, V%d.H8", pairs(i)+j, pairs(i-1)+j, sums(i)+j)
			}
			if i == 1 {
				continue
			}
			for half, arrangement := range []string{"8b", "16b"} {
				left, right := half, 2+half
				f.Same("uabd", "8h", 20, sums(i)+right, sums(i-1)+left)
				f.Same("uabd", "8h", 21, sums(i-1)+right, sums(i)+left)
				f.Same("umax", "8h", 20, 20, 21)
				f.Narrow("uqxtn", arrangement, 22, 20)
			}
			// Doubled, because the sums here are half of the gradients'; saturated at 255.
			f.ShiftCut("16b", 22, 22, 1)
			f.Line("FMOVQ F22, (R%d)", i-2)
			f.Line("ADD $%d, R%d", block/2, i-2)
		}
	})
	f.Line("RET")
}

// half writes the function of the rounded mean of each block of 2x2 pixels.
func (f file) half() {
	f.Function("halfNEON", "out, above, below *byte, ahead uintptr, n int",
		"halfNEON computes n pixels of the output, a multiple of 8: (a + b + c + d + 2) / 4. The memory ahead bytes from the pixels is prefetched.")
	f.Parameters("out", "above", "below", "ahead", "n")
	f.loop("pixels", 4, block/4, func() {
		for line := 1; line <= 2; line++ {
			f.Line("ADD R3, R%d, R5", line)
			f.Line("PRFM (R5), PLDL2KEEP")
		}
		// VLD3 separates the channels of 16 pixels of both rows.
		f.Line("VLD3.P 48(R1), [V0.B16, V1.B16, V2.B16]")
		f.Line("VLD3.P 48(R2), [V3.B16, V4.B16, V5.B16]")
		// Sums of horizontal neighbours of both rows, divided by 4 with rounding.
		for channel := range 3 {
			f.Pairwise("uaddlp", "16b", 6+channel, channel)
			f.Pairwise("uadalp", "16b", 6+channel, 3+channel)
			f.NarrowShift("rshrn", "8b", 6+channel, 6+channel, 2)
		}
		// VST3 interleaves the channels of 8 pixels again.
		f.Line("VST3.P [V6.B8, V7.B8, V8.B8], 24(R0)")
	})
	f.Line("RET")
}

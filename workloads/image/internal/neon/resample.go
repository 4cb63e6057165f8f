package main

import "github.com/batchctl/batchctl/workloads/internal/neon"

// bias and shift are the registers with the rounding of sums.
const bias, shift = 30, 31

// round adds the bias to four registers of sums, shifts them to the right and saturates
// them to words, in two registers from words on.
func (f file) round(sums, words int) {
	for i := range 4 {
		f.Line("VADD V%d.S4, V%d.S4, V%d.S4", bias, sums+i, sums+i)
		f.Same("sshl", "4s", sums+i, sums+i, shift)
		f.Narrow("sqxtn", []string{"4h", "8h"}[i%2], words+i/2, sums+i)
	}
}

// resampleDown writes the first pass: it weighs rows two by two into a line of words.
func (f file) resampleDown() {
	f.Function("resampleDownNEON",
		"out *int16, rows **byte, weights *int32, pairs, x, end int, bias int32, shift uint64",
		"resampleDownNEON computes out[x:end], a multiple of 32 bytes: rows holds two rows for each element of weights, which holds their weights. The sum and the bias are shifted right.")
	f.Parameters("out", "rows", "weights", "pairs", "x", "end")
	f.spread("bias", bias)
	f.rightShift("shift", "S4", shift)
	// R0 is at column x of the words, R5 counts the columns that are left.
	f.Line("ADD R4<<1, R0")
	f.Line("SUB R4, R5")
	f.loop("columns", 5, block/2, func() {
		f.Clear(16, 4)
		for i, from := range []int{1, 2, 3} { // rows, weights, pairs
			f.Line("MOVD R%d, R%d", from, 6+i)
		}
		// A pair of rows for each pair of weights.
		f.loop("taps", 8, 1, func() {
			f.Line("FMOVS (R7), F0")
			f.Line("ADD $4, R7")
			for row := range 2 {
				f.Line("MOVD.P 8(R6), R9")
				f.Line("ADD R4, R9")
				f.Line("FMOVQ (R9), F1")
				f.widen(1, 2, 3)
				for i := range 4 {
					f.LongByElement([]string{"4h", "8h"}[i%2], 16+i, 2+i/2, neon.Lane{Register: 0, Index: row})
				}
			}
		})
		f.round(16, 20)
		f.Store(0, 0, 20, 2)
		f.Line("ADD $%d, R0", block)
		f.Line("ADD $%d, R4", block/2)
	})
	f.Line("RET")
}

// resampleAlong writes the second pass, along a line of words. Each output pixel has a register:
// red, green, blue, and an unused sum of the sample after them.
func (f file) resampleAlong() {
	f.Function("resampleAlongNEON",
		"out *byte, line *int16, offsets *int32, weights *int16, pairs, n int, bias int32, shift uint64",
		"resampleAlongNEON computes n RGB pixels, a multiple of four. Pixel i is the sum of 2*pairs pixels of line from offsets[i] on, in bytes; it reads two bytes more. weights holds, for four pixels and a pair of taps, eight words for each pixel, of which the first two count.")
	f.Parameters("out", "line", "offsets", "weights", "pairs", "n")
	f.spread("bias", bias)
	f.rightShift("shift", "S4", shift)
	f.Comment("The bytes of four pixels without the fourth ones.")
	const squeeze = 29
	for i, order := range []uint64{0x0908060504020100, 0xFFFFFFFF0E0D0C0A} {
		f.Line("MOVD $%#x, R8", order)
		f.Line("VMOV R8, V%d.D[%d]", squeeze, i)
	}
	f.loop("pixels", 5, 4, func() {
		// The addresses of the first input of four outputs.
		for i := range 4 {
			f.Line("MOVW.P 4(R2), R%d", 8+i)
			f.Line("ADD R1, R%d", 8+i)
		}
		f.Clear(16, 4)
		f.Line("MOVD R4, R6")
		// Two taps of four pixels: the weights of pixel i are in lanes 0 and 1 of register i.
		f.loop("taps", 6, 1, func() {
			f.Load(3, 0, 0, 4)
			f.Line("ADD $64, R3")
			for i := range 4 {
				f.Line("FMOVD (R%d), F4", 8+i)
				f.Line("FMOVD 6(R%d), F5", 8+i)
				f.Line("ADD $12, R%d", 8+i)
				for tap := range 2 {
					f.LongByElement("4h", 16+i, 4+tap, neon.Lane{Register: i, Index: tap})
				}
			}
		})
		f.round(16, 20)
		for half, arrangement := range []string{"8b", "16b"} {
			f.Narrow("sqxtun", arrangement, 22, 20+half)
		}
		f.Line("VTBL V%d.B16, [V22.B16], V22.B16", squeeze)
		f.Line("FMOVD F22, (R0)")
		f.Line("VMOV V22.S[2], R8")
		f.Line("MOVW R8, 8(R0)")
		f.Line("ADD $12, R0")
	})
	f.Line("RET")
}

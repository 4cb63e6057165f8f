package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// resampleDown writes the first pass: it weighs rows two by two into a line of words.
func resampleDown(v isa) {
	v.begin("resampleDown", "out *int16, rows **byte, weights *int32, pairs, x, end int, bias int32, shift uint64",
		"computes out[x:end], whole vectors of bytes: rows holds two rows for each element of weights, which",
		"holds their weights. The sum and the bias are shifted right.")
	out, rows, weights, pairs, x, stop := arg("out"), arg("rows"), arg("weights"), arg("pairs"), arg("x"), arg("end")
	finish := v.finisher()
	none := v.reg()
	v.zero(none)
	sums := v.regs(4)
	Label("columns")
	for _, s := range sums {
		v.zero(s)
	}
	// For each pair of rows and weights: interleave the rows' samples, and multiply and add pairs.
	row, weight, left := GP64(), GP64(), GP64()
	MOVQ(rows, row)
	MOVQ(weights, weight)
	MOVQ(pairs, left)
	loop("taps", left, 1, func() {
		above, below := v.reg(), v.reg()
		at := GP64()
		MOVQ(Mem{Base: row}, at)
		v.load(Mem{Base: at, Index: x, Scale: 1}, above)
		MOVQ(Mem{Base: row, Disp: 8}, at)
		v.load(Mem{Base: at, Index: x, Scale: 1}, below)
		w := v.reg()
		VPBROADCASTD(Mem{Base: weight}, w)
		// The samples of the two rows side by side, so that one instruction weighs both.
		both := [2]VecVirtual{v.reg(), v.reg()}
		VPUNPCKLBW(below, above, both[0])
		VPUNPCKHBW(below, above, both[1])
		for i, b := range both {
			low, high := v.reg(), v.reg()
			VPUNPCKLBW(none, b, low)
			VPUNPCKHBW(none, b, high)
			weigh(w, low, sums[2*i])
			weigh(w, high, sums[2*i+1])
		}
		ADDQ(Imm(16), row)
		ADDQ(Imm(4), weight)
	})
	finish.store(sums, out, x)
	ADDQ(step32(v.bytes), x)
	CMPQ(x, stop)
	JLT(LabelRef("columns"))
	end()
}

// resampleAlong writes the second pass, along a line of words. Each output pixel has a lane: red,
// green, blue and an unused element.
func resampleAlong(v isa) {
	// The same channel of two neighbours side by side.
	neighbours := v.bytesOf("neighbours", 0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, 0x80, 0x80, 0x80, 0x80)
	// Removes the unused fourth byte of each pixel.
	squeeze := GLOBL("squeeze"+v.name, RODATA|NOPTR)
	for i, b := range []byte{0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0x80, 0x80, 0x80, 0x80} {
		DATA(i, U8(b))
	}
	v.begin("resampleAlong",
		"out *byte, line *int16, offsets *int32, weights *int16, pairs, n int, bias int32, shift uint64",
		"computes n RGB pixels, a multiple of four. Pixel i is the sum of 2*pairs pixels of line from offsets[i] on, in bytes;",
		"it reads four bytes more. weights holds, for four pixels and a pair of taps, eight words for each pixel.")
	out, line, offsets, weights, pairs, n := arg("out"), arg("line"), arg("offsets"), arg("weights"), arg("pairs"),
		arg("n")
	bias, shift := v.spread("bias"), count("shift")
	shuffle, narrowing, none := v.reg(), XMM(), v.reg()
	v.load(neighbours, shuffle)
	VMOVDQU(squeeze, narrowing)
	v.zero(none)
	// Four pixels at a time: one vector of AVX-512, two of AVX2.
	vectors := 64 / v.bytes
	sums := v.regs(vectors)
	at := []Register{GP64(), GP64(), GP64(), GP64()}
	Label("pixels")
	// The addresses of the first input of four outputs.
	for i, r := range at {
		MOVLQSX(Mem{Base: offsets, Disp: 4 * i}, r)
		ADDQ(line, r)
	}
	for _, s := range sums {
		v.zero(s)
	}
	more := GP64()
	MOVQ(pairs, more)
	loop("taps", more, 1, func() {
		// Two taps of RGB words for each pixel: 12 bytes, of which 16 are read.
		for i, s := range sums {
			r := v.reg()
			VMOVDQU(Mem{Base: at[i*4/vectors]}, r.AsX())
			for lane := 1; lane < 4/vectors; lane++ {
				from := Mem{Base: at[i*4/vectors+lane]}
				if v.wide() {
					VINSERTI32X4(Imm(uint64(lane)), from, r, r)
				} else {
					VINSERTI128(Imm(uint64(lane)), from, r, r)
				}
			}
			VPSHUFB(shuffle, r, r)
			VPMADDWD(Mem{Base: weights, Disp: i * v.bytes}, r, r)
			VPADDD(r, s, s)
		}
		for _, r := range at {
			ADDQ(Imm(12), r)
		}
		ADDQ(Imm(64), weights)
	})
	// Round, shift and saturate to bytes, and remove the unused fourth channel.
	pixels := XMM()
	for _, s := range sums {
		VPADDD(bias, s, s)
		VPSRAD(shift, s, s)
	}
	if v.wide() {
		VPMAXSD(none, sums[0], sums[0])
		VPMOVUSDB(sums[0], pixels)
	} else {
		VPACKUSDW(sums[1], sums[0], sums[0]) // pixels 0 and 2, 1 and 3
		VPACKUSWB(sums[0], sums[0], sums[0])
		VEXTRACTI128(Imm(1), sums[0], pixels)
		VPUNPCKLDQ(pixels, sums[0].AsX(), pixels)
	}
	VPSHUFB(narrowing, pixels, pixels)
	VMOVQ(pixels, Mem{Base: out})
	VPEXTRD(Imm(2), pixels, Mem{Base: out, Disp: 8})
	ADDQ(Imm(12), out)
	ADDQ(Imm(16), offsets)
	SUBQ(Imm(4), n)
	JG(LabelRef("pixels"))
	end()
}

package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// edgeConstants are the constants of luma and sobel.
type edgeConstants struct {
	dots    [2]Mem // red, green, blue and green of a pixel; of a load that begins four pixels early
	weights Mem    // of a pixel's bytes
	ones    Mem    // words
	bias    Mem    // half a level, for words and for dwords
	linear  Mem    // AVX-512: restores the order of the pixels after packing
	twos    Mem
	zip     Mem // interleaves the bytes of the lower and the upper half of a lane
}

// edgeTables defines the constants for v.
func edgeTables(v isa) edgeConstants {
	// Green has two weights, 51 + 99 = 150: 255 times each pair of weights fits a signed word.
	t := edgeConstants{
		weights: v.bytesOf("lumaWeights", 77, 51, 29, 99),
		twos:    v.bytesOf("twoBytes", 2),
		zip:     v.bytesOf("zip", 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15),
	}
	dots := []byte{0, 1, 2, 1, 3, 4, 5, 4, 6, 7, 8, 7, 9, 10, 11, 10}
	if !v.wide() {
		both := dozens("dotsAVX2", dots)
		t.dots = [2]Mem{both, both.Offset(32)}
		t.ones, t.bias = v.bytesOf("oneWords", 1, 0), v.bytesOf("halfWords", 128, 0)
		return t
	}
	t.bias = v.bytesOf("halfDwords", 128, 0, 0, 0)
	for i, early := range []byte{0, 16} {
		m := GLOBL([]string{"dots", "dotsLate"}[i]+v.name, RODATA|NOPTR)
		for at := range 64 {
			DATA(at, U8(dots[at%16]+byte(at/16*12)+early))
		}
		t.dots[i] = m
	}
	t.linear = GLOBL("linear"+v.name, RODATA|NOPTR)
	for pixel := range 64 {
		in := pixel % 16 // of one of four vectors of dwords
		word := in%4 + 4*(pixel%32/16)
		DATA(pixel, U8(in/4*16+2*word+pixel/32))
	}
	return t
}

// toLuma converts as many pixels as a vector has bytes to luma.
type toLuma struct {
	v isa
	t edgeConstants
	// AVX2, which has half as many registers, reads dots[1] from memory.
	dots                        [2]VecVirtual
	weights, ones, bias, linear VecVirtual
	odd                         Register // mask of bytes
}

// toLuma loads the constants into registers: from memory, they would be half of all loads.
func (v isa) toLuma(t edgeConstants) toLuma {
	l := toLuma{v: v, t: t}
	if !v.wide() {
		l.dots[0], l.weights, l.ones, l.bias = v.reg(), v.reg(), v.reg(), v.reg()
		v.load(t.dots[0], l.dots[0])
		v.load(t.weights, l.weights)
		v.load(t.ones, l.ones)
		v.load(t.bias, l.bias)
		return l
	}
	l.dots, l.weights, l.bias, l.linear = [2]VecVirtual{v.reg(), v.reg()}, v.reg(), v.reg(), v.reg()
	for i, m := range t.dots {
		v.load(m, l.dots[i])
	}
	v.load(t.weights, l.weights)
	v.load(t.bias, l.bias)
	v.load(t.linear, l.linear)
	// The mask selects the upper byte of each word.
	mask := GP64()
	MOVQ(U64(0xAAAAAAAAAAAAAAAA), mask)
	l.odd = K()
	KMOVQ(mask, l.odd)
	return l
}

// step writes the luma of the pixels at pix to out.
func (l toLuma) step(pix, out Mem) {
	if l.v.wide() {
		l.stepWide(pix, out)
		return
	}
	v := l.v
	// Four groups of eight pixels: shuffle to R, G, B, G, multiply, and add pairs twice.
	var words [2]VecVirtual
	for half := range words {
		var dwords [2]VecVirtual
		for i := range dwords {
			group := 2*half + i
			r := v.reg()
			early := 0
			var dots Op = l.dots[0]
			if group == 3 { // no byte after the pixels is read
				early, dots = 4, l.t.dots[1]
			}
			VBROADCASTI128(pix.Offset(12*group), r)
			VINSERTI128(Imm(1), pix.Offset(12*group+48-early), r, r)
			VPSHUFB(dots, r, r)
			VPMADDUBSW(l.weights, r, r)
			VPMADDWD(l.ones, r, r)
			dwords[i] = r
		}
		w := dwords[0]
		VPACKUSDW(dwords[1], dwords[0], w)
		VPADDW(l.bias, w, w)
		VPSRLW(Imm(8), w, w)
		words[half] = w
	}
	VPACKUSWB(words[1], words[0], words[0])
	v.store(words[0], out)
}

// stepWide is step for AVX-512: the dot product of each pixel's bytes and weights is one
// instruction.
func (l toLuma) stepWide(pix, out Mem) {
	v := l.v
	var dwords [4]VecVirtual
	for i := range dwords {
		at, dots := 48*i, l.dots[0]
		if i >= 2 { // no byte after the pixels is read
			at, dots = at-16, l.dots[1]
		}
		p, sum := v.reg(), v.reg()
		VPERMB(pix.Offset(at), dots, p)
		VMOVDQA64(l.bias, sum)
		dot(l.weights, p, sum)
		dwords[i] = sum
	}
	// Luma is the second byte of a dword, then the upper one of a word.
	low, high := dwords[0], dwords[2]
	VPACKUSDW(dwords[1], dwords[0], low)
	VPACKUSDW(dwords[3], dwords[2], high)
	VPSRLW(Imm(8), low, low)
	VMOVDQU8(high, l.odd, low)
	VPERMB(low, l.linear, low)
	v.store(low, out)
}

// dot is VPDPBUSD, which avo lacks: it adds the products of four unsigned with four signed bytes
// to sum.
func dot(signed, unsigned, sum Op) {
	Instruction(&ir.Instruction{
		Opcode: "VPDPBUSD", Operands: []Op{signed, unsigned, sum},
		Inputs: []Op{signed, unsigned, sum}, Outputs: []Op{sum}, ISA: []string{"AVX512VNNI"},
	})
}

// luma writes the function for the first lines of a band; sobelLuma computes the others.
func luma(v isa, t edgeConstants) {
	v.begin("luma", "out, pix *byte, n int",
		"computes n pixels, whole vectors of bytes: (77 R + 150 G + 29 B + 128) / 256.")
	out, pix, n := arg("out"), arg("pix"), arg("n")
	l := v.toLuma(t)
	loop("pixels", n, v.bytes, func() {
		l.step(Mem{Base: pix}, Mem{Base: out})
		ADDQ(step32(3*v.bytes), pix)
		ADDQ(step32(v.bytes), out)
	})
	end()
}

// sobel writes the functions that compute two rows of edges from four lines of luma; sobelLuma
// computes the next two lines in the same loop. With the sums B of 2x2 pixels, B(right, below) -
// B(left, above) is half the sum of the gradients and B(right, above) - B(left, below) half their
// difference. |gx| + |gy| is the maximum of |gx + gy| and |gx - gy|.
func sobel(v isa, t edgeConstants) {
	for _, kind := range []struct {
		name  string
		store func(from, to Op)
		luma  bool
	}{{"sobel", v.store, false}, {"sobelLuma", v.store, true}, {"sobelLumaStream", v.stream, true}} {
		// With 32 bytes a store, two rows of output leave half a line in each of the processor's buffers, and it
		// writes them one half at a time: on Zen 3, an image took 6.3 ms where ordinary stores take 4.0.
		if kind.name == "sobelLumaStream" && !v.wide() {
			continue
		}
		signature := "out, outBelow, above, below *byte, apart uintptr, n int"
		if kind.luma {
			signature = "next, pix *byte, down, ahead uintptr, " + signature
		}
		v.begin(kind.name, signature, map[string][]string{
			"sobel": {"computes n pixels, whole vectors, of two rows: |gx| + |gy|, at most 255. Two lines of luma begin at above",
				"and two at below, apart bytes from each other, with one more pixel at each end."},
			"sobelLuma": {"is sobel and luma in one: n pixels at pix, and n pixels down bytes after pix, go to the two lines at next.",
				"The memory ahead bytes from them is prefetched."},
			"sobelLumaStream": {"is sobelLuma with stores past the caches, which fence orders; out and outBelow are aligned to the vector."},
		}[kind.name]...)
		var l toLuma
		var next, pix, down, ahead Register
		if kind.luma {
			next, pix, down, ahead, l = arg("next"), arg("pix"), arg("down"), arg("ahead"), v.toLuma(t)
		}
		out, outBelow, above, below, apart, n := arg("out"), arg("outBelow"), arg("above"), arg("below"), arg("apart"),
			arg("n")
		e := v.edges(t)
		// Each iteration computes one vector of both rows.
		loop("pixels", n, v.bytes, func() {
			if kind.luma {
				l.step(Mem{Base: pix}, Mem{Base: next})
				v.fetch(pix, ahead, 3*v.bytes)
				ADDQ(down, pix)
				l.step(Mem{Base: pix}, Mem{Base: next, Index: apart, Scale: 1})
				v.fetch(pix, ahead, 3*v.bytes)
				SUBQ(down, pix)
				ADDQ(step32(3*v.bytes), pix)
				ADDQ(step32(v.bytes), next)
			}
			e.begin()
			e.line(Mem{Base: above})
			e.line(Mem{Base: above, Index: apart, Scale: 1})
			kind.store(e.line(Mem{Base: below}), Mem{Base: out})
			kind.store(e.line(Mem{Base: below, Index: apart, Scale: 1}), Mem{Base: outBelow})
			for _, r := range []Register{above, below, out, outBelow} {
				ADDQ(step32(v.bytes), r)
			}
		})
		end()
	}
}

// edges takes one line of luma after the other. For each line it computes words: the doubled sums
// of two neighbours, for the pairs that begin before, at and after an even pixel. sums are those
// of two lines together.
type edges struct {
	v           isa
	twos, zip   Op
	pairs, sums []VecVirtual
}

// edges loads the constants into registers.
func (v isa) edges(t edgeConstants) *edges {
	e := &edges{v: v, twos: v.reg(), zip: t.zip}
	v.load(t.twos, e.twos)
	if v.wide() { // AVX-512 has 32 registers
		e.zip = v.reg()
		v.load(t.zip, e.zip)
	}
	return e
}

// begin starts a new block of columns.
func (e *edges) begin() { e.pairs, e.sums = nil, nil }

// line takes the next line and returns the edges of the one before, nil for the first two.
func (e *edges) line(at Mem) Op {
	v := e.v
	// The sums of two neighbours, from three overlapping loads.
	pairs := v.regs(3)
	for i, p := range pairs {
		v.load(at.Offset(i-1), p)
		VPMADDUBSW(e.twos, p, p)
	}
	// pairs of the line before becomes, in place, the sums of both lines.
	above, below := e.sums, e.pairs
	for i, p := range below {
		VPADDW(pairs[i], p, p)
	}
	e.pairs, e.sums = pairs, below
	if above == nil {
		return nil
	}
	var halves [2]VecVirtual // even pixels, odd pixels
	for i := range halves {
		falling, rising := v.reg(), v.reg()
		VPSUBW(above[i], below[i+1], falling)
		VPSUBW(above[i+1], below[i], rising)
		VPABSW(falling, falling)
		VPABSW(rising, rising)
		VPMAXSW(rising, falling, falling)
		halves[i] = falling // the larger one is |gx| + |gy|
	}
	VPACKUSWB(halves[1], halves[0], halves[0])
	VPSHUFB(e.zip, halves[0], halves[0])
	return halves[0]
}

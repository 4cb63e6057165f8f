package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// rgbTables are the constants of the kernels that take pixels apart.
type rgbTables struct {
	dots  Mem    // red, green, blue and green of a pixel
	pairs Mem    // the same channel of two pixels side by side
	tight Mem    // twice six bytes and a gap of two to twelve bytes
	pick  [2]Mem // AVX-512: twelve bytes to a lane, even and odd ones
	close Mem    // lanes of twelve bytes without the gaps
	luma  Mem    // weights of a pixel's bytes
	ones  Mem    // bytes
	words Mem    // ones
}

func rgbConstants(v isa) rgbTables {
	const no = 0x80
	dots := []byte{0, 1, 2, 1, 3, 4, 5, 4, 6, 7, 8, 7, 9, 10, 11, 10}
	pairs := []byte{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, no, no, no, no}
	t := rgbTables{
		tight: v.bytesOf("tight", 0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, no, no, no, no),
		// Green in two parts: 255 times each pair of weights fits a signed word.
		luma:  v.bytesOf("lumaWeights", 77, 51, 29, 99),
		ones:  v.bytesOf("oneBytes", 1),
		words: v.bytesOf("oneWords", 1, 0),
	}
	if v.wide() {
		t.dots, t.pairs = v.bytesOf("dots", dots...), v.bytesOf("pairs", pairs...)
		// The second of the two vectors begins at dword 8; its dwords are 16 and up.
		var index [2][]uint32
		for group := range 8 {
			for i := range 4 {
				at := uint32(3*group + min(i, 2))
				if at >= 16 {
					at += 16 - 8
				}
				index[group%2] = append(index[group%2], at)
			}
		}
		t.pick = [2]Mem{dwordsOf("pickEvenAVX512", index[0]...), dwordsOf("pickOddAVX512", index[1]...)}
		t.close = dwordsOf("closeAVX512", 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 3, 3, 3)
		return t
	}
	// The last twelve of 48 bytes are loaded four bytes early, to stay inside.
	t.dots = dozens("dotsAVX2", dots)
	t.pairs = dozens("pairsAVX2", pairs)
	t.close = dwordsOf("closeAVX2", 0, 1, 2, 4, 5, 6, 3, 3)
	return t
}

// dozens are the shuffles of the even and of the odd groups of AVX2; the last
// group begins four bytes later in its lane.
func dozens(name string, lane []byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 64 {
		b := lane[i%16]
		if i >= 48 && b < 0x80 {
			b += 4
		}
		DATA(i, U8(b))
	}
	return m
}

// groups loads the even and the odd groups of twelve bytes, one to a lane: 96
// bytes with AVX-512, 48 with AVX2. Nothing else is read.
type groups struct {
	v       isa
	t       rgbTables
	index   [2]VecVirtual
	shuffle [2]VecVirtual
}

func (v isa) groups(t rgbTables, shuffle Mem) groups {
	g := groups{v: v, t: t}
	for i := range 2 {
		switch {
		case v.wide():
			g.index[i] = v.reg()
			v.load(t.pick[i], g.index[i])
			if i == 0 {
				g.shuffle[0] = v.reg()
				v.load(shuffle, g.shuffle[0])
			}
			g.shuffle[1] = g.shuffle[0]
		default:
			g.shuffle[i] = v.reg()
			v.load(shuffle.Offset(32*i), g.shuffle[i])
		}
	}
	return g
}

// load returns the even and the odd groups.
func (g groups) load(from Register) [2]VecVirtual {
	v := g.v
	all := [2]VecVirtual{v.reg(), v.reg()}
	if v.wide() {
		low, high := v.reg(), v.reg()
		v.load(Mem{Base: from}, low)
		v.load(Mem{Base: from, Disp: 32}, high)
		for i, r := range all {
			VMOVDQA64(g.index[i], r)
			VPERMI2D(high, low, r)
		}
	} else {
		for i, r := range all {
			VMOVDQU(Mem{Base: from, Disp: 12 * i}, r.AsX())
			VINSERTI128(Imm(1), Mem{Base: from, Disp: []int{24, 32}[i]}, r, r)
		}
	}
	for i, r := range all {
		VPSHUFB(g.shuffle[i], r, r)
	}
	return all
}

// toLuma turns pixels into words of luma.
type toLuma struct {
	v             isa
	g             groups
	weights, ones VecVirtual
	bias          VecVirtual
}

func (v isa) toLuma(t rgbTables) toLuma {
	l := toLuma{v: v, g: v.groups(t, t.dots), weights: v.reg(), ones: v.reg()}
	v.load(t.luma, l.weights)
	v.load(t.words, l.ones)
	l.bias = v.fillWords(128)
	return l
}

// step computes as many pixels as a vector has words, and moves on.
func (l toLuma) step(out, pix Register) {
	p := l.g.load(pix)
	for _, r := range p {
		VPMADDUBSW(l.weights, r, r)
		VPMADDWD(l.ones, r, r)
	}
	VPACKUSDW(p[1], p[0], p[0])
	VPADDW(l.bias, p[0], p[0])
	VPSRLW(Imm(8), p[0], p[0])
	l.v.store(p[0], Mem{Base: out})
	ADDQ(step32(3*l.v.bytes/2), pix)
	ADDQ(step32(l.v.bytes), out)
}

func luma(v isa, t rgbTables) {
	v.begin("luma", "out *int16, pix *byte, n int",
		"computes n pixels, a multiple of half a vector of bytes: (77 R + 150 G + 29 B + 128) / 256.")
	out, pix, n := arg("out"), arg("pix"), arg("n")
	l := v.toLuma(t)
	loop("pixels", n, v.bytes/2, func() { l.step(out, pix) })
	end()
}

// sobel takes one more line of luma and keeps what the next two rows need of
// it; sobelLuma computes luma further on in the line meanwhile, so that the
// processor has memory to fetch at all times.
func sobel(v isa, t rgbTables) {
	signature := "out *byte, line, across, here, smooth *int16, n int"
	for _, both := range []bool{false, true} {
		if both {
			v.begin("sobelLuma", "next *int16, pix *byte, ahead uintptr, "+signature, "is sobel and luma in one: n pixels from pix to next, too.",
				"What lies ahead bytes further is fetched into the cache.")
		} else {
			v.begin("sobel", signature,
				"computes n pixels, whole vectors of bytes: |gx| + |gy|, at most 255. line is the luma of the row below and",
				"begins one pixel to the left. across and smooth hold its differences (-1 0 1) and sums (1 2 1) of the row above,",
				"which those of the row below replace; here holds the differences of the row itself.")
		}
		out, line, across, here, smooth, n := arg("out"), arg("line"), arg("across"), arg("here"), arg("smooth"), arg("n")
		var l toLuma
		var next, pix, ahead Register
		if both {
			next, pix, ahead, l = arg("next"), arg("pix"), arg("ahead"), v.toLuma(t)
		}
		pack := v.narrower()
		x := GP64()
		XORQ(x, x)
		loop("pixels", n, v.bytes, func() {
			var edges [2]VecVirtual
			for i := range edges {
				if both {
					l.step(next, pix)
				}
				at := func(line Register, column int) Mem {
					return Mem{Base: line, Index: x, Scale: 2, Disp: i*v.bytes + 2*column}
				}
				edges[i] = edgesOf(v, at, line, across, here, smooth)
			}
			if both {
				for i := 0; i < 3*v.bytes; i += 64 {
					PREFETCHT0(Mem{Base: pix, Index: ahead, Scale: 1, Disp: i})
				}
			}
			pack.pack(edges[0], edges[1], edges[0])
			v.store(edges[0], Mem{Base: out, Index: x, Scale: 1})
			ADDQ(step32(v.bytes), x)
		})
		end()
	}
}

// edgesOf is one vector of words.
func edgesOf(v isa, at func(line Register, column int) Mem, line, across, here, smooth Register) VecVirtual {
	left, difference, sum := v.reg(), v.reg(), v.reg()
	v.load(at(line, 0), left)
	v.load(at(line, 2), difference)
	VPADDW(left, difference, sum)
	VPSUBW(left, difference, difference)
	v.load(at(line, 1), left)
	VPADDW(left, left, left)
	VPADDW(left, sum, sum)
	gx, gy := v.reg(), v.reg()
	v.load(at(here, 0), gx)
	VPADDW(gx, gx, gx)
	VPADDW(at(across, 0), gx, gx)
	VPADDW(difference, gx, gx)
	VPSUBW(at(smooth, 0), sum, gy)
	v.store(difference, at(across, 0))
	v.store(sum, at(smooth, 0))
	VPABSW(gx, gx)
	VPABSW(gy, gy)
	VPADDW(gx, gy, gy)
	return gy
}

// half is the rounded mean of each block of 2x2 pixels; halfStream fetches both rows ahead
// and, with AVX-512, stores past the caches. The 24 bytes of a step with AVX2 are not
// aligned for that.
func half(v isa, t rgbTables) {
	for _, stream := range []bool{false, true} {
		signature := "out, above, below *byte, n int"
		if stream {
			v.begin("halfStream", signature, "is half for what is too large for the caches; out is aligned to 16 bytes.")
		} else {
			v.begin("half", signature,
				"computes n pixels of the output, a multiple of a quarter of a vector: (a + b + c + d + 2) / 4.")
		}
		out, above, below, n := arg("out"), arg("above"), arg("below"), arg("n")
		g := v.groups(t, t.pairs)
		ones, tight, near := v.reg(), v.reg(), v.reg()
		v.load(t.ones, ones)
		v.load(t.tight, tight)
		v.load(t.close, near)
		two := v.fillWords(2)
		loop("pixels", n, v.bytes/4, func() {
			if stream {
				for i := 0; i < 3*v.bytes/2; i += 64 {
					PREFETCHT0(Mem{Base: above, Disp: fetchAhead + i})
					PREFETCHT0(Mem{Base: below, Disp: fetchAhead + i})
				}
			}
			a, b := g.load(above), g.load(below)
			for i := range a {
				VPMADDUBSW(ones, a[i], a[i])
				VPMADDUBSW(ones, b[i], b[i])
				VPADDW(a[i], b[i], a[i])
				VPADDW(two, a[i], a[i])
				VPSRLW(Imm(2), a[i], a[i])
			}
			r := a[0]
			VPACKUSWB(a[1], a[0], r)
			VPSHUFB(tight, r, r)
			VPERMD(r, near, r)
			v.storeHalf(r, out, stream)
			ADDQ(step32(3*v.bytes/2), above)
			ADDQ(step32(3*v.bytes/2), below)
			ADDQ(step32(3*v.bytes/4), out)
		})
		if stream {
			SFENCE()
		}
		end()
	}
}

// fetchAhead is how many bytes before their use pixels are asked for.
const fetchAhead = 2048

// storeHalf stores the lower three quarters of a vector. Past the caches it goes in pieces
// of 16 bytes, since rows need not be aligned to more.
func (v isa) storeHalf(r VecVirtual, out Register, stream bool) {
	if stream && v.wide() {
		VMOVNTDQ(r.AsX(), Mem{Base: out})
		for i := 1; i < 3; i++ {
			piece := XMM()
			VEXTRACTI32X4(Imm(uint64(i)), r, piece)
			VMOVNTDQ(piece, Mem{Base: out, Disp: 16 * i})
		}
		return
	}
	if v.wide() {
		VMOVDQU(r.AsY(), Mem{Base: out})
		VEXTRACTI32X4(Imm(2), r, Mem{Base: out, Disp: 32})
		return
	}
	VMOVDQU(r.AsX(), Mem{Base: out})
	top := XMM()
	VEXTRACTI128(Imm(1), r, top)
	VMOVQ(top, Mem{Base: out, Disp: 16})
}

package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// rgbTables are the constants of the kernels that separate the channels of pixels.
type rgbTables struct {
	pairs Mem    // the same channel of two pixels side by side
	tight Mem    // twice six bytes and a gap of two to twelve bytes
	pick  [2]Mem // AVX-512: twelve bytes to a lane, of the even and of the odd groups
	close Mem    // lanes of twelve bytes without the gaps
	ones  Mem    // bytes
}

// rgbConstants defines the constants for v.
func rgbConstants(v isa) rgbTables {
	const no = 0x80 // VPSHUFB writes a zero for an index with the highest bit
	pairs := []byte{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, no, no, no, no}
	t := rgbTables{
		tight: v.bytesOf("tight", 0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, no, no, no, no),
		ones:  v.bytesOf("oneBytes", 1),
	}
	if v.wide() {
		t.pairs = v.bytesOf("pairs", pairs...)
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
	t.pairs = dozens("pairsAVX2", pairs)
	t.close = dwordsOf("closeAVX2", 0, 1, 2, 4, 5, 6, 3, 3)
	return t
}

// dozens defines the shuffles of the even and of the odd groups for AVX2. The last group begins
// four bytes later in its lane.
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

// groups loads groups of twelve bytes, four pixels, one to a lane: 96 bytes with AVX-512, 48 with
// AVX2. It reads no other bytes.
type groups struct {
	v       isa
	t       rgbTables
	index   [2]VecVirtual
	shuffle [2]VecVirtual
}

// groups loads the constants into registers; shuffle is applied to each group.
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

// load returns the even and the odd groups, shuffled.
func (g groups) load(from Mem) [2]VecVirtual {
	v := g.v
	all := [2]VecVirtual{v.reg(), v.reg()}
	if v.wide() {
		// Two loads of 64 bytes, 32 apart, cover the 96 bytes.
		low, high := v.reg(), v.reg()
		v.load(from, low)
		v.load(from.Offset(32), high)
		for i, r := range all {
			VMOVDQA64(g.index[i], r)
			VPERMI2D(high, low, r)
		}
	} else {
		for i, r := range all {
			VBROADCASTI128(from.Offset(12*i), r)
			VINSERTI128(Imm(1), from.Offset([]int{24, 32}[i]), r, r)
		}
	}
	for i, r := range all {
		VPSHUFB(g.shuffle[i], r, r)
	}
	return all
}

// half writes the rounded mean of each block of 2x2 pixels. halfStream joins four steps to three
// whole vectors, prefetches both rows and stores past the caches.
func half(v isa, t rgbTables) {
	signature := "out, above, below *byte, n int"
	v.begin("half", signature,
		"computes n pixels of the output, a multiple of a quarter of a vector: (a + b + c + d + 2) / 4.")
	out, above, below, n := arg("out"), arg("above"), arg("below"), arg("n")
	m := v.means(t)
	near := v.reg()
	v.load(t.close, near)
	// A step reads six bytes of each row for a pixel, and writes three.
	loop("pixels", n, v.bytes/4, func() {
		r := m.of(Mem{Base: above}, Mem{Base: below})
		VPERMD(r, near, r)
		v.storeHalf(r, out)
		ADDQ(step32(3*v.bytes/2), above)
		ADDQ(step32(3*v.bytes/2), below)
		ADDQ(step32(3*v.bytes/4), out)
	})
	end()

	v.begin("halfStream", "out, above, below *byte, ahead uintptr, n int",
		"is half for whole vectors of images larger than the caches: stores go past them, which fence orders,",
		"and the memory ahead bytes from the pixels is prefetched. out is aligned to the vector.")
	out, above, below, ahead, n := arg("out"), arg("above"), arg("below"), arg("ahead"), arg("n")
	m = v.means(t)
	joint := v.joiner()
	loop("pixels", n, v.bytes, func() {
		v.fetch(above, ahead, 6*v.bytes)
		v.fetch(below, ahead, 6*v.bytes)
		var before VecVirtual
		for i := range 4 {
			at := 3 * v.bytes / 2 * i
			r := m.of(Mem{Base: above, Disp: at}, Mem{Base: below, Disp: at})
			// The second to fourth result each complete one full vector.
			joint.place(i, r)
			if i > 0 {
				joint.fill(i, before, r)
				v.stream(before, Mem{Base: out, Disp: (i - 1) * v.bytes})
			}
			before = r
		}
		ADDQ(step32(6*v.bytes), above)
		ADDQ(step32(6*v.bytes), below)
		ADDQ(step32(3*v.bytes), out)
	})
	end()
}

// means computes the means of 2x2 pixels: a quarter of a vector of pixels, in twelve bytes of each
// lane.
type means struct {
	g                groups
	ones, two, tight VecVirtual
}

// means loads the constants into registers.
func (v isa) means(t rgbTables) means {
	m := means{g: v.groups(t, t.pairs), ones: v.reg(), tight: v.reg()}
	v.load(t.ones, m.ones)
	v.load(t.tight, m.tight)
	m.two = v.fillWords(2)
	return m
}

// of returns the means of the pixels at above and below.
func (m means) of(above, below Mem) VecVirtual {
	a, b := m.g.load(above), m.g.load(below)
	// Sums of horizontal neighbours, then of both rows, plus 2, divided by 4.
	for i := range a {
		VPMADDUBSW(m.ones, a[i], a[i])
		VPMADDUBSW(m.ones, b[i], b[i])
		VPADDW(a[i], b[i], a[i])
		VPADDW(m.two, a[i], a[i])
		VPSRLW(Imm(2), a[i], a[i])
	}
	r := a[0]
	VPACKUSWB(a[1], a[0], r)
	VPSHUFB(m.tight, r, r)
	return r
}

// storeHalf stores the lower three quarters of a vector.
func (v isa) storeHalf(r VecVirtual, out Register) {
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

// joiner makes three full vectors of four vectors with twelve bytes in each lane.
type joiner struct {
	v     isa
	index []VecVirtual
}

// joiner loads the permutations into registers.
func (v isa) joiner() joiner {
	j := joiner{v: v}
	all := [][]uint32{ // AVX2: the positions of the dwords of each of the four
		{0, 1, 2, 4, 5, 6, 6, 6}, {2, 4, 5, 6, 6, 6, 0, 1}, {5, 6, 6, 6, 0, 1, 2, 4}, {6, 6, 0, 1, 2, 4, 5, 6},
	}
	if v.wide() { // of two vectors, the end of one and the beginning of the next
		all = make([][]uint32, 3)
		for i := range 48 {
			dword := uint32(i%12/3*4 + i%12%3)
			from, to := i/12, i/16
			if from > to {
				dword += 16
			}
			all[to] = append(all[to], dword)
		}
	}
	for i, dwords := range all {
		r := v.reg()
		v.load(dwordsOf("join"+strconv.Itoa(i)+v.name, dwords...), r)
		j.index = append(j.index, r)
	}
	return j
}

// place moves the dwords of vector i to their final positions (AVX2 only).
func (j joiner) place(i int, r Op) {
	if !j.v.wide() {
		VPERMD(r, j.index[i], r)
	}
}

// fill completes the vector before vector i with dwords of r, which is vector i.
func (j joiner) fill(i int, before, r Op) {
	if j.v.wide() {
		VPERMT2D(r, j.index[i-1], before)
		return
	}
	VPBLENDD(Imm(uint64([]int{0xC0, 0xF0, 0xFC}[i-1])), r, before, before)
}

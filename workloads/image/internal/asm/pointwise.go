package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// pointwise writes the functions of sample * factor + offset, as bytes and as float32, with stores
// into the caches and past them.
func pointwise(v isa) {
	for _, kind := range []struct {
		suffix string
		store  func(from, to Op)
		fetch  func(src Register)
	}{{"", v.store, func(Register) {}}, {"Stream", v.stream, v.fetchPage}} {
		scaleWords(v, "scaleWords"+kind.suffix, kind.store, kind.fetch)
		scale(v, "scale"+kind.suffix, kind.store, kind.fetch)
		toFloat(v, "toFloat"+kind.suffix, kind.store, kind.fetch)
	}
}

// fetchPage prefetches a vector of a later page, because the processor's own prefetcher stops at
// a page boundary, and one just ahead.
func (v isa) fetchPage(src Register) {
	PREFETCHT1(Mem{Base: src, Disp: 8192})
	PREFETCHT0(Mem{Base: src, Disp: 1024})
}

// linear writes the part that scale and toFloat share, for as many samples as a vector has
// float32s.
func linear(v isa, from Mem, factor, offset, to Op) {
	VPMOVZXBD(from, to)
	VCVTDQ2PS(to, to)
	VFMADD213PS(offset, factor, to)
}

// scaleWords writes the 16-bit variant of scale, which needs half the instructions. Not every
// factor and offset has one.
func scaleWords(v isa, name string, store func(from, to Op), fetch func(src Register)) {
	v.begin(name, "dst, src *byte, n int, factor, more, less uint32, shift uint64",
		"computes n bytes, whole vectors: sample*factor/256 + more - less, each step cut to 0..65535, shifted right and",
		"cut to 255. Either half of the 32 bits holds the 16-bit number.")
	dst, src, n := arg("dst"), arg("src"), arg("n")
	factor, more, less := v.spread("factor"), v.spread("more"), v.spread("less")
	shift, none := count("shift"), v.reg() // none is zero
	v.zero(none)
	loop("samples", n, v.bytes, func() {
		fetch(src)
		samples := v.reg()
		v.load(Mem{Base: src}, samples)
		words := v.regs(2)
		// With zero as the low byte, the high word of the product is sample*factor/256.
		VPUNPCKLBW(samples, none, words[0]) // 256 times the sample
		VPUNPCKHBW(samples, none, words[1])
		// Every step saturates at 0 and 65535.
		for _, w := range words {
			VPMULHUW(factor, w, w)
			VPADDUSW(more, w, w)
			VPSUBUSW(less, w, w)
			VPSRLW(shift, w, w)
		}
		VPACKUSWB(words[1], words[0], words[0])
		store(words[0], Mem{Base: dst})
		ADDQ(step32(v.bytes), src)
		ADDQ(step32(v.bytes), dst)
	})
	fence(name)
	end()
}

// scale writes the function that computes bytes in float32. The order restores the samples after
// the packing, which works lane by lane.
func scale(v isa, name string, store func(from, to Op), fetch func(src Register)) {
	v.begin(name, "dst, src *byte, n int, factor, offset float32",
		"computes n bytes, whole vectors: sample*factor + offset as one float32, cut to 0..255 and to an integer.")
	dst, src, n := arg("dst"), arg("src"), arg("n")
	factor, offset := v.spread("factor"), v.spread("offset")
	order := v.reg()
	if v.wide() {
		v.load(dwordsOf("unpack"+name+v.name, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), order)
	} else {
		v.load(dwordsOf("unpack"+name+v.name, 0, 4, 1, 5, 2, 6, 3, 7), order)
	}
	loop("samples", n, v.bytes, func() {
		fetch(src)
		r := v.regs(4)
		for i := range r {
			linear(v, Mem{Base: src, Disp: i * v.bytes / 4}, factor, offset, r[i])
			VCVTTPS2DQ(r[i], r[i])
		}
		// The first packing is signed, so that values below 0 and above 255 saturate.
		VPACKSSDW(r[1], r[0], r[0])
		VPACKSSDW(r[3], r[2], r[2])
		VPACKUSWB(r[2], r[0], r[0])
		VPERMD(r[0], order, r[0])
		store(r[0], Mem{Base: dst})
		ADDQ(step32(v.bytes), src)
		ADDQ(step32(v.bytes), dst)
	})
	fence(name)
	end()
}

// toFloat writes the function that computes float32s.
func toFloat(v isa, name string, store func(from, to Op), fetch func(src Register)) {
	v.begin(name, "dst, src *byte, n int, factor, offset float32",
		"computes n samples, whole vectors of bytes: sample*factor + offset as float32.")
	dst, src, n := arg("dst"), arg("src"), arg("n")
	factor, offset := v.spread("factor"), v.spread("offset")
	loop("samples", n, v.bytes, func() {
		fetch(src)
		for i := range 4 {
			r := v.reg()
			linear(v, Mem{Base: src, Disp: i * v.bytes / 4}, factor, offset, r)
			store(r, Mem{Base: dst, Disp: i * v.bytes})
		}
		ADDQ(step32(v.bytes), src)
		ADDQ(step32(4*v.bytes), dst)
	})
	fence(name)
	end()
}

// fence orders stores past the caches before later stores, in the functions named ...Stream.
func fence(name string) {
	if name[len(name)-1] == 'm' {
		SFENCE()
	}
}

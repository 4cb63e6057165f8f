package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packRows writes the function that packs rows of B that are not transposed. It copies
// bytes, so one function serves both element types.
func packRows(s isa) {
	width := s.columns * s.vector
	TEXT("packRows"+s.name, NOSPLIT, "func(dst, src *byte, ld uintptr, k, panels int, gap uintptr)")
	Pragma("noescape")
	Doc(
		"packRows"+s.name+" copies k rows, which lie ld bytes apart from src on, into panels: the vectors of row l for one panel lie together, those for the next panel gap bytes further.",
		"k and panels are at least 1.",
	)
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	ld, gap := Load(Param("ld"), GP64()), Load(Param("gap"), GP64())
	k := Load(Param("k"), GP64())
	Label("row")
	from, to, left, soon := GP64(), GP64(), GP64(), GP64()
	MOVQ(src, from)
	Comment("The processor prefetches along a row on its own, but not the row after the next.")
	LEAQ(Mem{Base: src, Index: ld, Scale: 2}, soon)
	MOVQ(dst, to)
	Load(Param("panels"), left)
	// from is in the row of src, to in the row's part of each panel.
	Label("panel")
	for at := 0; at < width; at += 64 {
		PREFETCHT1(Mem{Base: soon, Disp: at})
	}
	ADDQ(I32(width), soon)
	regs := make([]reg.VecVirtual, s.columns)
	for j := range regs {
		regs[j] = s.register()
		VMOVUPD(Mem{Base: from, Disp: j * s.vector}, regs[j])
	}
	for j, r := range regs {
		VMOVUPD(r, Mem{Base: to, Disp: j * s.vector})
	}
	ADDQ(I32(width), from)
	ADDQ(gap, to)
	DECQ(left)
	JNE(LabelRef("panel"))
	ADDQ(ld, src)
	ADDQ(I32(width), dst)
	DECQ(k)
	JNE(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// transposeLoop writes the part that the transpositions share: a loop over blocks of 4 columns of 4
// rows. block writes the body; row and column give it the addresses.
func transposeLoop(name, goType string, bytes int, block func(row, column func(i int) Mem)) {
	TEXT(name, NOSPLIT, "func(dst *"+goType+", gap uintptr, src *"+goType+", ld uintptr, blocks int)")
	Pragma("noescape")
	Doc(
		name+" transposes 4 rows, which lie ld bytes apart from src on, 4 columns for each of the blocks: column l is written gap*l bytes after dst.",
		"blocks is at least 1. It needs AVX.",
	)
	dst, gap := Load(Param("dst"), GP64()), Load(Param("gap"), GP64())
	src, ld := Load(Param("src"), GP64()), Load(Param("ld"), GP64())
	blocks := Load(Param("blocks"), GP64())
	ld3, gap3 := GP64(), GP64()
	LEAQ(Mem{Base: ld, Index: ld, Scale: 2}, ld3)
	LEAQ(Mem{Base: gap, Index: gap, Scale: 2}, gap3)
	at := func(base, once, thrice reg.Register) func(i int) Mem {
		return func(i int) Mem {
			m := Mem{Base: base}
			switch i {
			case 1, 2:
				m.Index, m.Scale = once, uint8(i)
			case 3:
				m.Index, m.Scale = thrice, 1
			}
			return m
		}
	}
	Label("block")
	block(at(src, ld, ld3), at(dst, gap, gap3))
	ADDQ(I32(4*bytes), src)
	LEAQ(Mem{Base: dst, Index: gap, Scale: 4}, dst)
	DECQ(blocks)
	JNE(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// transpose64 writes the transposition of 4x4 float64s: pairs by unpacking, then halves of
// vectors by VPERM2F128.
func transpose64() {
	transposeLoop("transposeF64", "float64", 8, func(row, column func(int) Mem) {
		r := [4]reg.VecVirtual{YMM(), YMM(), YMM(), YMM()}
		for i := range r {
			VMOVUPD(row(i), r[i])
		}
		// Elements of rows 0 and 1, and of 2 and 3, in pairs: columns 0 and 2 low, 1 and 3 high.
		low01, high01, low23, high23 := YMM(), YMM(), YMM(), YMM()
		VUNPCKLPD(r[1], r[0], low01)
		VUNPCKHPD(r[1], r[0], high01)
		VUNPCKLPD(r[3], r[2], low23)
		VUNPCKHPD(r[3], r[2], high23)
		for i, pair := range [4][2]reg.VecVirtual{{low01, low23}, {high01, high23}, {low01, low23}, {high01, high23}} {
			halves := Imm(0x20) // the low halves of both
			if i >= 2 {
				halves = Imm(0x31)
			}
			out := YMM()
			VPERM2F128(halves, pair[1], pair[0], out)
			VMOVUPD(out, column(i))
		}
	})
}

// transpose32 writes the transposition of 4x4 float32s: single elements by unpacking, then
// pairs.
func transpose32() {
	transposeLoop("transposeF32", "float32", 4, func(row, column func(int) Mem) {
		r := [4]reg.VecVirtual{XMM(), XMM(), XMM(), XMM()}
		for i := range r {
			VMOVUPS(row(i), r[i])
		}
		// Elements of rows 0 and 1, and of 2 and 3, in pairs: columns 0 and 1 low, 2 and 3 high.
		low01, high01, low23, high23 := XMM(), XMM(), XMM(), XMM()
		VUNPCKLPS(r[1], r[0], low01)
		VUNPCKHPS(r[1], r[0], high01)
		VUNPCKLPS(r[3], r[2], low23)
		VUNPCKHPS(r[3], r[2], high23)
		for i, pair := range [4][2]reg.VecVirtual{{low01, low23}, {low01, low23}, {high01, high23}, {high01, high23}} {
			out := XMM()
			if i%2 == 0 {
				VUNPCKLPD(pair[1], pair[0], out)
			} else {
				VUNPCKHPD(pair[1], pair[0], out)
			}
			VMOVUPS(out, column(i))
		}
	})
}

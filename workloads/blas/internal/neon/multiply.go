package main

import "fmt"

const (
	// vector is the width of a register in bytes.
	vector = 16
	// tileRows and tileColumns (in vectors) are the tile of C that stays in registers: 24
	// accumulators of 32, beside 6 vectors of B and 2 of A. As with AVX2 panels are 96 bytes wide.
	tileRows, tileColumns = 4, 6
	// panelBytes is the width of a whole panel of B.
	panelBytes = tileColumns * vector
	// unroll is the number of steps along K between two tests for the end.
	unroll = 8
	// firstB and firstA are the registers behind the accumulators.
	firstB, firstA = tileRows * tileColumns, tileRows*tileColumns + tileColumns
)

// element is an element type and how instructions name it.
type element struct {
	name, goType string
	bytes        int
	// arrangement is a whole vector of it, load the instruction that loads one.
	arrangement, load string
	// byElement are FMLA and FMUL with one element of a register for all of another's: the
	// assembler has no names for them (Arm ARM, C7.2, FMLA and FMUL by element).
	fmla, fmul uint32
}

var elements = []element{
	{"F64", "float64", 8, "D2", "FMOVD", 0x4FC01000, 0x4FC09000},
	{"F32", "float32", 4, "S4", "FMOVS", 0x4F801000, 0x4F809000},
}

// lane is an element of a register.
type lane struct{ register, index int }

// byElement writes d += n * x, or d = n * x, for all elements of n and the one of x.
func (f *file) byElement(e element, operation uint32, x lane, n, d int) {
	name := map[uint32]string{e.fmla: "FMLA", e.fmul: "FMUL"}[operation]
	index := uint32(x.index) << 11 // H
	if e.bytes == 4 {
		index = uint32(x.index>>1)<<11 | uint32(x.index&1)<<21 // H and L
	}
	code := operation | uint32(x.register)<<16 | index | uint32(n)<<5 | uint32(d)
	f.line("WORD $0x%08X // %s V%d.%s[%d], V%d.%s, V%d.%s", code, name, x.register, e.arrangement[:1], x.index, n, e.arrangement, d, e.arrangement)
}

// multiply writes the function that multiplies a strip of A by some panels of B, which are
// that many vectors wide: all of the tile, or fewer for what is left at the right of C.
//
// R0 stands in B, R1 at the tile of C, R3 to R6 at the rows of A (R3 alone where it is packed).
func (f *file) multiply(e element, columns int, packed bool) {
	name := "multiply" + e.name + "NEON"
	if columns < tileColumns {
		name += fmt.Sprint("x", columns/(tileColumns/3))
	}
	nr := columns * vector / e.bytes
	rs, place, shift := ", rs uintptr", "Element (i, l) of A lies rs*i bytes and l elements after a", 8
	if packed {
		name += "Packed"
		rs, place, shift = "", fmt.Sprintf("Element (i, l) of A lies i+%d*l elements after a", tileRows), 0
	}
	f.function(name, fmt.Sprintf("k, panels int, a *%[1]s%[2]s, b, c *%[1]s, ldc uintptr, alpha *%[1]s, add bool, next *%[1]s, step, jump uintptr", e.goType, rs), 88+shift,
		fmt.Sprintf("%s sets, or with add increases, %d rows of C by alpha times A B, for %d columns of each of the panels of B.", name, tileRows, nr),
		place+", row i of C ldc*i bytes after c. The panels of B are packed and follow each other, k rows of that many columns each.",
		fmt.Sprintf("k and panels are at least 1. From next on memory is fetched into the cache for the call after this one: step bytes further for each %d steps along k, and jump bytes further for each panel.", unroll),
	)
	f.line("MOVD panels+8(FP), R8")
	f.line("MOVD b+%d(FP), R0", 24+shift)
	f.line("MOVD c+%d(FP), R1", 32+shift)
	f.line("MOVD ldc+%d(FP), R2", 40+shift)
	f.line("MOVD next+%d(FP), R14", 64+shift)
	f.line("MOVD step+%d(FP), R10", 72+shift)
	f.line("MOVD jump+%d(FP), R15", 80+shift)
	if !packed {
		f.line("MOVD rs+24(FP), R13")
	}

	f.label("panel")
	f.line("MOVD a+16(FP), R3")
	rows := 1
	if !packed {
		rows = tileRows
		for i := range rows - 1 {
			f.line("ADD R13, R%d, R%d", 3+i, 4+i)
		}
	}
	f.line("MOVD R14, R9")
	f.comment("The tile of C is on its way while the products are summed.")
	f.line("MOVD R1, R11")
	for i := range tileRows {
		last := columns*vector - 8
		for at := 0; at < last; at += 48 {
			f.line("PRFM %d(R11), PSTL1KEEP", at)
		}
		f.line("PRFM %d(R11), PSTL1KEEP", last)
		if i < tileRows-1 {
			f.line("ADD R2, R11")
		}
	}
	for i := range tileRows * columns {
		f.line("VMOVI $0, V%d.B16", i)
	}
	f.line("MOVD k+0(FP), R7")
	f.line("SUBS $%d, R7", unroll)
	f.line("BLT rest")

	f.label("steps")
	f.line("PRFM (R9), PLDL2KEEP")
	f.line("ADD R10, R9")
	f.steps(e, columns, packed, unroll)
	f.line("SUBS $%d, R7", unroll)
	f.line("BGE steps")

	f.label("rest")
	f.line("ADDS $%d, R7", unroll)
	f.line("BEQ store")

	f.label("single")
	f.steps(e, columns, packed, 1)
	f.line("SUBS $1, R7")
	f.line("BNE single")

	f.label("store")
	f.store(e, columns, shift)
	f.line("ADD $%d, R1", columns*vector)
	f.line("ADD R15, R14")
	f.line("SUBS $1, R8")
	f.line("BNE panel")
	f.line("RET")
}

// steps adds the products of n columns of A and rows of B, and moves the registers that stand
// in them once for all. A that is not packed comes element by element: two registers take
// turns, and the processor's renaming makes more of them.
func (f *file) steps(e element, columns int, packed bool, n int) {
	for u := range n {
		f.pairs("FLDPQ", 0, u*columns*vector, firstB, columns)
		var a [tileRows]lane
		switch {
		case !packed:
			for i := range a {
				a[i] = lane{firstA + i%2, 0}
			}
		case e.bytes == 8:
			f.pairs("FLDPQ", 3, u*tileRows*e.bytes, firstA, 2)
			a = [tileRows]lane{{firstA, 0}, {firstA, 1}, {firstA + 1, 0}, {firstA + 1, 1}}
		default:
			f.line("FMOVQ %d(R3), F%d", u*tileRows*e.bytes, firstA+u%2)
			for i := range a {
				a[i] = lane{firstA + u%2, i}
			}
		}
		for i, x := range a {
			if !packed {
				f.line("%s %d(R%d), F%d", e.load, u*e.bytes, 3+i, x.register)
			}
			for j := range columns {
				f.byElement(e, e.fmla, x, firstB+j, i*columns+j)
			}
		}
	}
	f.line("ADD $%d, R0", n*columns*vector)
	if packed {
		f.line("ADD $%d, R3", n*tileRows*e.bytes)
		return
	}
	for i := range tileRows {
		f.line("ADD $%d, R%d", n*e.bytes, 3+i)
	}
}

// pairs loads or stores n vectors, an even number, at an offset from a register.
func (f *file) pairs(operation string, base, offset, first, n int) {
	for j := 0; j < n; j += 2 {
		at, registers := fmt.Sprintf("%d(R%d)", offset+j*vector, base), fmt.Sprintf("(F%d, F%d)", first+j, first+j+1)
		if operation == "FLDPQ" {
			f.line("FLDPQ %s, %s", at, registers)
		} else {
			f.line("FSTPQ %s, %s", registers, at)
		}
	}
}

// store puts alpha times the accumulators into C, or adds them to it.
func (f *file) store(e element, columns, shift int) {
	alpha := lane{firstA, 0}
	f.line("MOVD alpha+%d(FP), R12", 48+shift)
	f.line("%s (R12), F%d", e.load, firstA)
	f.line("MOVBU add+%d(FP), R12", 56+shift)
	f.line("MOVD R1, R11")
	f.line("CBNZ R12, add")
	for i := range tileRows {
		for j := range columns {
			f.byElement(e, e.fmul, alpha, i*columns+j, i*columns+j)
		}
		f.pairs("FSTPQ", 11, 0, i*columns, columns)
		if i < tileRows-1 {
			f.line("ADD R2, R11")
		}
	}
	f.line("B stored")
	f.label("add")
	for i := range tileRows {
		f.pairs("FLDPQ", 11, 0, firstB, columns)
		for j := range columns {
			f.byElement(e, e.fmla, alpha, i*columns+j, firstB+j)
		}
		f.pairs("FSTPQ", 11, 0, firstB, columns)
		if i < tileRows-1 {
			f.line("ADD R2, R11")
		}
	}
	f.label("stored")
}

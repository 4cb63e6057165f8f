package main

import (
	"fmt"

	"github.com/batchctl/batchctl/workloads/internal/neon"
)

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
	// firstB and firstA are the first registers of B and of A, after the accumulators.
	firstB, firstA = tileRows * tileColumns, tileRows*tileColumns + tileColumns
)

// element is an element type and its names in instructions.
type element struct {
	name, goType string
	bytes        int
	// arrangement names a whole vector of it, load the instruction that loads one element.
	arrangement, load string
}

// elements are the element types that every kernel is written for.
var elements = []element{
	{"F64", "float64", 8, "D2", "FMOVD"},
	{"F32", "float32", 4, "S4", "FMOVS"},
}

// multiply writes the function that multiplies a strip of A by some panels of B. The panels are
// columns vectors wide: the whole tile, or fewer for the right edge of C.
//
// R0 points into B, R1 to the tile of C, R3 to R6 to the rows of A (R3 alone if it is packed).
func (f *file) multiply(e element, columns int, packed bool) {
	name := "multiply" + e.name + "NEON"
	if columns < tileColumns {
		name += fmt.Sprint("x", columns/(tileColumns/3))
	}
	nr := columns * vector / e.bytes
	rs, place := ", rs uintptr", "Element (i, l) of A lies rs*i bytes and l elements after a"
	if packed {
		name += "Packed"
		rs, place = "", fmt.Sprintf("Element (i, l) of A lies i+%d*l elements after a", tileRows)
	}
	f.Function(name, fmt.Sprintf("k, panels int, a *%[1]s%[2]s, b, c *%[1]s, ldc uintptr, alpha *%[1]s, add bool, next *%[1]s, step, jump, also uintptr", e.goType, rs),
		fmt.Sprintf("%s sets, or with add increases, %d rows of C by alpha times A B, for %d columns of each of the panels of B.", name, tileRows, nr),
		place+", row i of C ldc*i bytes after c. The panels of B are packed and follow each other, k rows of that many columns each.",
		fmt.Sprintf("k and panels are at least 1. For the next call, memory from next on is prefetched: step bytes further for each %d steps along k, and jump bytes further for each panel. also is the distance in bytes of a second line that is prefetched with each.", unroll),
	)
	f.Line("MOVD %s, R8", f.Parameter("panels"))
	f.Line("MOVD %s, R0", f.Parameter("b"))
	f.Line("MOVD %s, R1", f.Parameter("c"))
	f.Line("MOVD %s, R2", f.Parameter("ldc"))
	f.Line("MOVD %s, R14", f.Parameter("next"))
	f.Line("MOVD %s, R10", f.Parameter("step"))
	f.Line("MOVD %s, R15", f.Parameter("jump"))
	f.Line("MOVD %s, R16", f.Parameter("also"))
	if !packed {
		f.Line("MOVD %s, R13", f.Parameter("rs"))
	}

	// For each panel of B the strip of A is read again from its first column.
	f.Label("panel")
	f.Line("MOVD %s, R3", f.Parameter("a"))
	rows := 1
	if !packed {
		rows = tileRows
		for i := range rows - 1 {
			f.Line("ADD R13, R%d, R%d", 3+i, 4+i)
		}
	}
	f.Line("MOVD R14, R9")
	f.Comment("The tile of C is prefetched while the products are summed.")
	f.Line("MOVD R1, R11")
	// A row has up to 96 bytes, which touch two or three lines of 64.
	for i := range tileRows {
		last := columns*vector - 8
		for at := 0; at < last; at += 48 {
			f.Line("PRFM %d(R11), PSTL1KEEP", at)
		}
		f.Line("PRFM %d(R11), PSTL1KEEP", last)
		if i < tileRows-1 {
			f.Line("ADD R2, R11")
		}
	}
	f.Clear(0, tileRows*columns)
	f.Line("MOVD %s, R7", f.Parameter("k"))
	f.Line("SUBS $%d, R7", unroll)
	f.Line("BLT rest")

	// unroll steps along K at a time; R9 walks through the memory for the next call.
	f.Label("steps")
	f.Line("ADD R16, R9, R12")
	f.Line("PRFM (R9), PLDL2KEEP")
	f.Line("PRFM (R12), PLDL2KEEP")
	f.Line("ADD R10, R9")
	f.steps(e, columns, packed, unroll)
	f.Line("SUBS $%d, R7", unroll)
	f.Line("BGE steps")

	// The last k%unroll steps, one by one.
	f.Label("rest")
	f.Line("ADDS $%d, R7", unroll)
	f.Line("BEQ store")

	f.Label("single")
	f.steps(e, columns, packed, 1)
	f.Line("SUBS $1, R7")
	f.Line("BNE single")

	// The tile is complete: store it, and move to the next columns of C.
	f.Label("store")
	f.store(e, columns)
	f.Line("ADD $%d, R1", columns*vector)
	f.Line("ADD R15, R14")
	f.Line("SUBS $1, R8")
	f.Line("BNE panel")
	f.Line("RET")
}

// steps adds the products of n columns of A and rows of B, and then advances the pointers once for
// all n. Elements of unpacked A are loaded one by one into two registers in turn, which the
// processor renames to more.
func (f *file) steps(e element, columns int, packed bool, n int) {
	for u := range n {
		f.Load(0, u*columns*vector, firstB, columns)
		var a [tileRows]neon.Lane
		switch {
		case !packed:
			for i := range a {
				a[i] = neon.Lane{Register: firstA + i%2}
			}
		case e.bytes == 8: // four float64s of packed A fill two registers
			f.Load(3, u*tileRows*e.bytes, firstA, 2)
			a = [tileRows]neon.Lane{{Register: firstA}, {Register: firstA, Index: 1}, {Register: firstA + 1},
				{Register: firstA + 1, Index: 1}}
		default: // four float32s fill one
			f.Line("FMOVQ %d(R3), F%d", u*tileRows*e.bytes, firstA+u%2)
			for i := range a {
				a[i] = neon.Lane{Register: firstA + u%2, Index: i}
			}
		}
		for i, x := range a {
			if !packed {
				f.Line("%s %d(R%d), F%d", e.load, u*e.bytes, 3+i, x.Register)
			}
			for j := range columns {
				f.ByElement("fmla", e.bytes, i*columns+j, firstB+j, x)
			}
		}
	}
	f.Line("ADD $%d, R0", n*columns*vector)
	if packed {
		f.Line("ADD $%d, R3", n*tileRows*e.bytes)
		return
	}
	for i := range tileRows {
		f.Line("ADD $%d, R%d", n*e.bytes, 3+i)
	}
}

// store writes alpha times the accumulators to C, or adds them to it.
func (f *file) store(e element, columns int) {
	alpha := neon.Lane{Register: firstA}
	f.Line("MOVD %s, R12", f.Parameter("alpha"))
	f.Line("%s (R12), F%d", e.load, firstA)
	f.Line("MOVBU %s, R12", f.Parameter("add"))
	f.Line("MOVD R1, R11")
	f.Line("CBNZ R12, add")
	// C = alpha * sums
	for i := range tileRows {
		for j := range columns {
			f.ByElement("fmul", e.bytes, i*columns+j, i*columns+j, alpha)
		}
		f.Store(11, 0, i*columns, columns)
		if i < tileRows-1 {
			f.Line("ADD R2, R11")
		}
	}
	f.Line("B stored")
	// C += alpha * sums
	f.Label("add")
	for i := range tileRows {
		f.Load(11, 0, firstB, columns)
		for j := range columns {
			f.ByElement("fmla", e.bytes, firstB+j, i*columns+j, alpha)
		}
		f.Store(11, 0, firstB, columns)
		if i < tileRows-1 {
			f.Line("ADD R2, R11")
		}
	}
	f.Label("stored")
}

// Command asm writes the kernels of package blas: products of packed panels,
// the packing of panels, and chains of fused multiply-adds that measure the
// machine's peak. It is a module of its own, so that the build of batchctl
// needs no avo.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is one instruction set: the width of its vectors and the registers that a tile of C
// may fill.
type isa struct {
	name string // the suffix of the functions' names
	// vector is the width in bytes.
	vector int
	// rows and columns (in vectors) of the tile of C that stays in registers:
	// 24 accumulators of 32 registers with AVX-512, 12 of 16 with AVX2. Either
	// leaves registers for a row of B and an element of A, and 3 columns need the
	// fewest loads for a multiply-add: (rows + 3) for 3 rows.
	rows, columns int
}

var (
	avx512 = isa{name: "AVX512", vector: 64, rows: 8, columns: 3}
	avx2   = isa{name: "AVX2", vector: 32, rows: 4, columns: 3}
)

// register allocates a vector register.
func (s isa) register() reg.VecVirtual {
	if s.vector == 64 {
		return ZMM()
	}
	return YMM()
}

// zero clears a register by an idiom that costs no execution.
func (s isa) zero(r reg.VecVirtual) {
	if s.vector == 64 {
		VPXORQ(r, r, r)
	} else {
		VXORPS(r, r, r)
	}
}

// element is an element type and its instructions.
type element struct {
	name, goType string // the suffix of the functions' names, the type of their arguments
	bytes        int    // of an element
	broadcast    func(ops ...operand.Op)
	// fma231 is d += a b, fma213 is d = d b + m.
	fma231 func(ops ...operand.Op)
	fma213 func(ops ...operand.Op)
	mul    func(ops ...operand.Op)
	load   func(ops ...operand.Op)
}

// elements are the element types that every kernel is written for.
var elements = []element{
	{"F64", "float64", 8, VBROADCASTSD, VFMADD231PD, VFMADD213PD, VMULPD, VMOVUPD},
	{"F32", "float32", 4, VBROADCASTSS, VFMADD231PS, VFMADD213PS, VMULPS, VMOVUPS},
}

func main() {
	ConstraintExpr("amd64")
	for _, s := range []isa{avx512, avx2} {
		for _, e := range elements {
			// The kernel of whole panels, and those of two columns of vectors and of one.
			for columns := s.columns; columns > 0; columns-- {
				multiply(s, e, columns, false)
				multiply(s, e, columns, true)
			}
		}
		for _, e := range elements {
			peak(s, e)
		}
		packRows(s)
	}
	transpose64()
	transpose32()
	cpuid()
	Generate()
}

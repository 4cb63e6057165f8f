package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// finishDown rounds four accumulators in the order of VPUNPCK, narrows them to words and stores
// the words in the order of the columns. low and top are the permutations that restore it.
type finishDown struct {
	v                     isa
	bias, shift, low, top VecVirtual
}

// finisher loads the constants of finishDown from the parameters bias and shift.
func (v isa) finisher() finishDown {
	f := finishDown{v: v, bias: v.spread("bias"), shift: count("shift")}
	if v.wide() {
		f.low, f.top = v.reg(), v.reg()
		v.load(constants.even, f.low)
		v.load(constants.odd, f.top)
	}
	return f
}

// store writes the words of four accumulators to out from column x on.
func (f finishDown) store(sums []VecVirtual, out, x Register) {
	v := f.v
	// Add half a unit and shift: rounding to nearest.
	for _, s := range sums {
		VPADDD(f.bias, s, s)
		VPSRAD(f.shift, s, s)
	}
	a, b := v.reg(), v.reg()
	VPACKSSDW(sums[1], sums[0], a) // columns 0 to 7 of each lane
	VPACKSSDW(sums[3], sums[2], b) // columns 8 to 15
	first, second := v.reg(), v.reg()
	if v.wide() {
		VMOVDQA64(f.low, first)
		VPERMI2Q(b, a, first)
		VMOVDQA64(f.top, second)
		VPERMI2Q(b, a, second)
	} else {
		VPERM2I128(Imm(0x20), b, a, first)
		VPERM2I128(Imm(0x31), b, a, second)
	}
	v.store(first, Mem{Base: out, Index: x, Scale: 2})
	v.store(second, Mem{Base: out, Index: x, Scale: 2, Disp: v.bytes})
}

// weigh multiplies the pairs of words by the pairs of weights and adds them to the sums. It
// overwrites pairs.
func weigh(weights, pairs Op, sums Op) {
	VPMADDWD(weights, pairs, pairs)
	VPADDD(pairs, sums, sums)
}

// flip writes the function that makes levels signed by subtracting 128.
func flip(v isa) {
	sign := v.bytesOf("sign", 0x80)
	v.begin("flip", "out, pix *byte, ahead uintptr, n int",
		"writes pix[i] - 128 to out for n bytes, whole vectors, and prefetches the bytes ahead of them.")
	out, pix, ahead, n := arg("out"), arg("pix"), arg("ahead"), arg("n")
	loop("columns", n, v.bytes, func() {
		all := v.reg()
		PREFETCHT0(Mem{Base: pix, Index: ahead, Scale: 1})
		v.load(Mem{Base: pix}, all)
		v.xor(sign, all)
		v.store(all, Mem{Base: out})
		ADDQ(step32(v.bytes), pix)
		ADDQ(step32(v.bytes), out)
	})
	end()
}

func (v isa) xor(with, r Op) {
	if v.wide() {
		VPXORQ(with, r, r)
	} else {
		VPXOR(with, r, r)
	}
}

// gaussianAlong writes the first pass: along a line of signed levels, to words in units of 1/128
// level. The words of a vector of levels are in the order of VPUNPCK, which gaussianDown undoes.
func gaussianAlong(v isa) {
	scale := v.bytesOf("scale", 128)
	v.begin("gaussianAlong", "out *int16, line *byte, weights *int32, terms, step, n int",
		"computes n words of out, whole vectors of line. Term k is line[i-k*step] + line[i+k*step], times weight k in units of 2^-15,",
		"rounded. Both halves of a weight's element are equal. The words are in the order of VPUNPCK: first those of the lower half of each lane, then the others.")
	out, line, weights, terms, step, n := arg("out"), arg("line"), arg("weights"), arg("terms"), arg("step"), arg("n")
	// A pair of levels times 128 each is their sum in units of 1/128.
	factor := v.reg()
	v.load(scale, factor)
	for _, vectors := range []int{2, 1} { // of levels
		count := strconv.Itoa(vectors)
		Label("columns" + count)
		CMPQ(n, step32(vectors*v.bytes))
		JLT(LabelRef("over" + count))
		sums := v.regs(2 * vectors)
		for _, s := range sums {
			v.zero(s)
		}
		// left and right move away from the centre, one term at a time.
		left, right, weight, more := GP64(), GP64(), GP64(), GP64()
		MOVQ(line, left)
		MOVQ(line, right)
		MOVQ(weights, weight)
		MOVQ(terms, more)
		loop("terms"+count, more, 1, func() {
			w := v.reg()
			VPBROADCASTD(Mem{Base: weight}, w)
			for i := range vectors {
				before, after, high := v.reg(), v.reg(), v.reg()
				v.load(Mem{Base: left, Disp: i * v.bytes}, before)
				v.load(Mem{Base: right, Disp: i * v.bytes}, after)
				VPUNPCKHBW(after, before, high)
				VPUNPCKLBW(after, before, before)
				for j, r := range []VecVirtual{before, high} {
					VPMADDUBSW(r, factor, r)
					VPMULHRSW(w, r, r)
					VPADDW(r, sums[2*i+j], sums[2*i+j])
				}
			}
			SUBQ(step, left)
			ADDQ(step, right)
			ADDQ(Imm(4), weight)
		})
		// The order of VPUNPCK costs nothing here: gaussianDown packs it back.
		for i, s := range sums {
			v.store(s, Mem{Base: out, Disp: i * v.bytes})
		}
		ADDQ(step32(2*vectors*v.bytes), out)
		ADDQ(step32(vectors*v.bytes), line)
		SUBQ(step32(vectors*v.bytes), n)
		JMP(LabelRef("columns" + count))
		Label("over" + count)
	}
	end()
}

// levels are the constants that make levels of words.
type levels struct {
	v          isa
	sign, half Mem
}

// levels defines the constants for v.
func (v isa) levels() levels { return levels{v, v.bytesOf("top", 0x80), v.bytesOf("round", 64, 0)} }

// store rounds two vectors of words, in the order of VPUNPCK, saturates them to signed levels, adds
// the 128 again, and writes one vector of levels.
func (l levels) store(low, high VecVirtual, to Mem) {
	for _, s := range []VecVirtual{low, high} {
		VPADDW(l.half, s, s)
		VPSRAW(Imm(7), s, s)
	}
	VPACKSSWB(high, low, low)
	l.v.xor(l.sign, low)
	l.v.store(low, to)
}

// gaussianDown writes the second pass: down the columns of words, to levels.
func gaussianDown(v isa, l levels) {
	v.begin("gaussianDown", "out *byte, rows **int16, weights *int32, terms, x, n int",
		"computes n bytes of out, whole vectors, from the words x and on of rows as gaussianAlong writes them.",
		"rows points to the middle one: term k is the sum of the rows k before and k after it, times weight k.")
	out, rows, weights, terms, x, n := arg("out"), arg("rows"), arg("weights"), arg("terms"), arg("x"), arg("n")
	steps := []int{2, 1}
	if v.wide() {
		steps = []int{4, 2, 1} // AVX-512 has 32 registers
	}
	for _, vectors := range steps { // of levels
		count := strconv.Itoa(vectors)
		Label("columns" + count)
		CMPQ(n, step32(vectors*v.bytes))
		JLT(LabelRef("over" + count))
		sums := v.regs(2 * vectors)
		for _, s := range sums {
			v.zero(s)
		}
		// up and down move away from the middle row, one term at a time.
		up, down, weight, left := GP64(), GP64(), GP64(), GP64()
		MOVQ(rows, up)
		MOVQ(rows, down)
		MOVQ(weights, weight)
		MOVQ(terms, left)
		loop("terms"+count, left, 1, func() {
			before, after := GP64(), GP64()
			MOVQ(Mem{Base: up}, before)
			MOVQ(Mem{Base: down}, after)
			w := v.reg()
			VPBROADCASTD(Mem{Base: weight}, w)
			for i, s := range sums {
				r := v.reg()
				v.load(Mem{Base: before, Index: x, Scale: 2, Disp: i * v.bytes}, r)
				VPADDW(Mem{Base: after, Index: x, Scale: 2, Disp: i * v.bytes}, r, r)
				VPMULHRSW(w, r, r)
				VPADDW(r, s, s)
			}
			SUBQ(Imm(8), up)
			ADDQ(Imm(8), down)
			ADDQ(Imm(4), weight)
		})
		for i := 0; i < len(sums); i += 2 {
			l.store(sums[i], sums[i+1], Mem{Base: out, Disp: i / 2 * v.bytes})
		}
		ADDQ(step32(vectors*v.bytes), out)
		ADDQ(step32(vectors*v.bytes), x)
		SUBQ(step32(vectors*v.bytes), n)
		JMP(LabelRef("columns" + count))
		Label("over" + count)
	}
	end()
}

// gaussianPair writes the second pass for two rows. Term k of the upper one is of the rows k before
// and k after it, and term k of the lower one of the rows k-1 before and k+1 after the upper one.
// So the two rows that a term adds are the other two of the next term, and each is loaded once for
// both: half of the loads of gaussianDown, which loads limit.
func gaussianPair(v isa, l levels) {
	v.begin("gaussianPair", "out, below *byte, rows **int16, weights *int32, terms, x, n int",
		"is gaussianDown for the row that rows points to and, to below, for the row after it.")
	out, below, rows, weights, terms, x, n := arg("out"), arg("below"), arg("rows"), arg("weights"), arg("terms"),
		arg("x"), arg("n")
	steps := []int{1}
	if v.wide() {
		steps = []int{2, 1} // AVX-512 has 32 registers
	}
	for _, vectors := range steps { // of levels
		count := strconv.Itoa(vectors)
		Label("columns" + count)
		CMPQ(n, step32(vectors*v.bytes))
		JLT(LabelRef("over" + count))
		sums := [2][]VecVirtual{v.regs(2 * vectors), v.regs(2 * vectors)} // of both rows
		// The rows of the term before and of this one: those before and those after the middle.
		var before, after [2][]VecVirtual
		up, down, weight, left, at := GP64(), GP64(), GP64(), GP64(), GP64()
		for i := range before {
			before[i], after[i] = v.regs(2*vectors), v.regs(2*vectors)
		}
		load := func(row Register, to []VecVirtual) {
			MOVQ(Mem{Base: row}, at)
			for i, r := range to {
				v.load(Mem{Base: at, Index: x, Scale: 2, Disp: i * v.bytes}, r)
			}
		}
		MOVQ(rows, up)
		LEAQ(Mem{Base: rows, Disp: 8}, down)
		load(up, after[0])
		load(down, before[0])
		for row := range sums {
			for _, s := range sums[row] {
				v.zero(s)
			}
		}
		MOVQ(weights, weight)
		MOVQ(terms, left)
		Label("terms" + count)
		for old, fresh := range []int{1, 0} {
			w := v.reg()
			VPBROADCASTD(Mem{Base: weight}, w)
			load(up, before[fresh])
			load(down, after[fresh])
			for i := range 2 * vectors {
				upper, lower := after[old][i], before[old][i]
				VPADDW(before[fresh][i], upper, upper)
				VPADDW(after[fresh][i], lower, lower)
				for row, r := range []VecVirtual{upper, lower} {
					VPMULHRSW(w, r, r)
					VPADDW(r, sums[row][i], sums[row][i])
				}
			}
			SUBQ(Imm(8), up)
			ADDQ(Imm(8), down)
			ADDQ(Imm(4), weight)
			DECQ(left)
			if old == 0 {
				JEQ(LabelRef("done" + count))
			} else {
				JNE(LabelRef("terms" + count))
			}
		}
		Label("done" + count)
		for i := 0; i < 2*vectors; i += 2 {
			l.store(sums[0][i], sums[0][i+1], Mem{Base: out, Disp: i / 2 * v.bytes})
			l.store(sums[1][i], sums[1][i+1], Mem{Base: below, Disp: i / 2 * v.bytes})
		}
		for _, r := range []Register{out, below, x} {
			ADDQ(step32(vectors*v.bytes), r)
		}
		SUBQ(step32(vectors*v.bytes), n)
		JMP(LabelRef("columns" + count))
		Label("over" + count)
	}
	end()
}

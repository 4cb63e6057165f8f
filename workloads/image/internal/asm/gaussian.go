package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// finishDown rounds four accumulators that lie in the order of VPUNPCK, makes
// words of them and stores those in the order of the columns.
type finishDown struct {
	v                     isa
	bias, shift, low, top VecVirtual
}

func (v isa) finisher() finishDown {
	f := finishDown{v: v, bias: v.spread("bias"), shift: count("shift")}
	if v.wide() {
		f.low, f.top = v.reg(), v.reg()
		v.load(constants.even, f.low)
		v.load(constants.odd, f.top)
	}
	return f
}

func (f finishDown) store(sums []VecVirtual, out, x Register) {
	v := f.v
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

// weigh adds the pairs of words, times the pairs of weights, to the sums.
func weigh(weights, pairs Op, sums Op) {
	VPMADDWD(weights, pairs, pairs)
	VPADDD(pairs, sums, sums)
}

// gaussianDown sums rows that have the same weight before it weighs them.
func gaussianDown(v isa) {
	ones := v.bytesOf("ones", 1)
	v.begin("gaussianDown", "out *int16, rows **byte, weights *int32, pairs, x, end int, bias int32, shift uint64",
		"computes out[x:end], whole vectors of bytes: rows holds four rows for each element of weights,",
		"the first two weighed by its low half and the others by its high half. The sum and the bias are shifted right.")
	out, rows, weights, pairs, x, stop := arg("out"), arg("rows"), arg("weights"), arg("pairs"), arg("x"), arg("end")
	finish := v.finisher()
	one := v.reg()
	v.load(ones, one)
	sums := v.regs(4)
	Label("columns")
	for _, s := range sums {
		v.zero(s)
	}
	row, weight, left := GP64(), GP64(), GP64()
	MOVQ(rows, row)
	MOVQ(weights, weight)
	MOVQ(pairs, left)
	loop("taps", left, 1, func() {
		var sum [2][2]VecVirtual // of the rows of either weight: low and high columns of each lane
		for i := range sum {
			above, below := v.reg(), v.reg()
			at := GP64()
			MOVQ(Mem{Base: row, Disp: 16 * i}, at)
			v.load(Mem{Base: at, Index: x, Scale: 1}, above)
			MOVQ(Mem{Base: row, Disp: 16*i + 8}, at)
			v.load(Mem{Base: at, Index: x, Scale: 1}, below)
			sum[i] = [2]VecVirtual{v.reg(), v.reg()}
			VPUNPCKLBW(below, above, sum[i][0])
			VPUNPCKHBW(below, above, sum[i][1])
			for _, s := range sum[i] {
				VPMADDUBSW(one, s, s)
			}
		}
		w := v.reg()
		VPBROADCASTD(Mem{Base: weight}, w)
		for i := range 2 {
			low, high := v.reg(), v.reg()
			VPUNPCKLWD(sum[1][i], sum[0][i], low)
			VPUNPCKHWD(sum[1][i], sum[0][i], high)
			weigh(w, low, sums[2*i])
			weigh(w, high, sums[2*i+1])
		}
		ADDQ(Imm(32), row)
		ADDQ(Imm(4), weight)
	})
	finish.store(sums, out, x)
	ADDQ(step32(v.bytes), x)
	CMPQ(x, stop)
	JLT(LabelRef("columns"))
	end()
}

// gaussianAlong does the same along a line of words.
func gaussianAlong(v isa) {
	v.begin("gaussianAlong", "out *byte, line *int16, weights *int32, pairs, step, n int, bias int32, shift uint64",
		"computes n samples of out, whole vectors. Term k is line[i-k*step] + line[i+k*step], step in bytes; each element",
		"of weights holds the weights of two terms. The sum and the bias are shifted right.")
	out, line, weights, pairs, step, n := arg("out"), arg("line"), arg("weights"), arg("pairs"), arg("step"), arg("n")
	bias, shift, pack := v.spread("bias"), count("shift"), v.narrower()
	sums := v.regs(4)
	Label("columns")
	for _, s := range sums {
		v.zero(s)
	}
	left, right, weight, more := GP64(), GP64(), GP64(), GP64()
	MOVQ(line, left)
	MOVQ(line, right)
	MOVQ(weights, weight)
	MOVQ(pairs, more)
	loop("taps", more, 1, func() {
		var sum [2][2]VecVirtual // of either term: first and second vector
		for i := range sum {
			sum[i] = [2]VecVirtual{v.reg(), v.reg()}
			for j, s := range sum[i] {
				v.load(Mem{Base: left, Disp: j * v.bytes}, s)
				VPADDW(Mem{Base: right, Disp: j * v.bytes}, s, s)
			}
			SUBQ(step, left)
			ADDQ(step, right)
		}
		w := v.reg()
		VPBROADCASTD(Mem{Base: weight}, w)
		for i := range 2 {
			low, high := v.reg(), v.reg()
			VPUNPCKLWD(sum[1][i], sum[0][i], low)
			VPUNPCKHWD(sum[1][i], sum[0][i], high)
			weigh(w, low, sums[2*i])
			weigh(w, high, sums[2*i+1])
		}
		ADDQ(Imm(4), weight)
	})
	for _, s := range sums {
		VPADDD(bias, s, s)
		VPSRAD(shift, s, s)
	}
	VPACKSSDW(sums[1], sums[0], sums[0])
	VPACKSSDW(sums[3], sums[2], sums[2])
	pack.pack(sums[0], sums[2], sums[0])
	v.store(sums[0], Mem{Base: out})
	ADDQ(step32(v.bytes), out)
	ADDQ(step32(2*v.bytes), line)
	SUBQ(step32(v.bytes), n)
	JG(LabelRef("columns"))
	end()
}

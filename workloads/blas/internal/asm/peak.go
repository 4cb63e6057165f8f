package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// peakChains is the number of accumulators: more than the 10 that hide the
// latency of two multiply-adds per cycle, and few enough for AVX2.
const peakChains = 12

// peak writes the loop that only computes fused multiply-adds.
func peak(s isa, e element) {
	TEXT("peak"+e.name+s.name, NOSPLIT, "func(rounds int, x *"+e.goType+")")
	Pragma("noescape")
	Doc(
		"peak"+e.name+s.name+" does 12 independent fused multiply-adds of vectors in each round, of x with itself, and stores a vector of the sums at x.",
		"rounds is at least 1. x is as long as a vector.",
	)
	rounds, x := Load(Param("rounds"), GP64()), Load(Param("x"), GP64())
	v := s.register()
	e.load(Mem{Base: x}, v)
	acc := make([]reg.VecVirtual, peakChains)
	for i := range acc {
		acc[i] = s.register()
		s.zero(acc[i])
	}
	// No accumulator depends on another, so only the throughput limits a round.
	Label("round")
	for _, r := range acc {
		e.fma231(v, v, r)
	}
	DECQ(rounds)
	JNE(LabelRef("round"))
	// The stored vector depends on every accumulator, so that a test can check all of them.
	for _, r := range acc[1:] {
		e.fma231(v, r, acc[0])
	}
	e.load(acc[0], Mem{Base: x})
	VZEROUPPER()
	RET()
}

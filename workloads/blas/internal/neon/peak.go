package main

// chains is the number of accumulators: more than the 16 that hide the latency of four
// multiply-adds per cycle (Neoverse V1 and V2, Apple's M1).
const chains = 24

// peak writes the loop that only computes fused multiply-adds.
func (f *file) peak(e element) {
	name := "peak" + e.name + "NEON"
	f.Function(name, "rounds int, x *"+e.goType,
		name+" does 24 independent fused multiply-adds of vectors in each round, of x with itself, and stores a vector of the sums at x.",
		"rounds is at least 1. x is as long as a vector.")
	fma := func(x, y, d int) {
		f.Line("VFMLA V%d.%s, V%d.%s, V%d.%s", x, e.arrangement, y, e.arrangement, d, e.arrangement)
	}
	f.Line("MOVD %s, R0", f.Parameter("rounds"))
	f.Line("MOVD %s, R1", f.Parameter("x"))
	f.Line("FMOVQ (R1), F%d", chains)
	f.Clear(0, chains)
	// No accumulator depends on another, so only the throughput limits a round.
	f.Label("round")
	for i := range chains {
		fma(chains, chains, i)
	}
	f.Line("SUBS $1, R0")
	f.Line("BNE round")
	// The stored vector depends on every accumulator, so that a test can check all of them.
	for i := 1; i < chains; i++ {
		fma(chains, i, 0)
	}
	f.Line("FMOVQ F0, (R1)")
	f.Line("RET")
}

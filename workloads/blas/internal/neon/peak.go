package main

// chains is the number of accumulators: more than the 16 that hide the latency of four
// multiply-adds per cycle (Neoverse V1 and V2, Apple's M1).
const chains = 24

// peak writes the loop that does nothing but fused multiply-adds.
func (f *file) peak(e element) {
	name := "peak" + e.name + "NEON"
	f.function(name, "rounds int, x *"+e.goType, 16,
		name+" does 24 independent fused multiply-adds of vectors in each round, of x with itself, and stores a vector of the sums at x.",
		"rounds is at least 1. x is as long as a vector.")
	fma := func(x, y, d int) {
		f.line("VFMLA V%d.%s, V%d.%s, V%d.%s", x, e.arrangement, y, e.arrangement, d, e.arrangement)
	}
	f.line("MOVD rounds+0(FP), R0")
	f.line("MOVD x+8(FP), R1")
	f.line("FMOVQ (R1), F%d", chains)
	for i := range chains {
		f.line("VMOVI $0, V%d.B16", i)
	}
	f.label("round")
	for i := range chains {
		fma(chains, chains, i)
	}
	f.line("SUBS $1, R0")
	f.line("BNE round")
	for i := 1; i < chains; i++ {
		fma(chains, i, 0)
	}
	f.line("FMOVQ F0, (R1)")
	f.line("RET")
}

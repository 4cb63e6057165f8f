package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// copies writes the copies that measure the ceiling: into the caches (copy) and past them
// (copyStream).
func copies(v isa) {
	for _, kind := range []struct {
		name, doc string
		store     func(from, to Op)
	}{
		{"copy", "copies n bytes, a multiple of four vectors.", v.store},
		{"copyStream", "is copy with stores past the caches. It prefetches two pages ahead; dst is aligned to the vector.", v.stream},
	} {
		v.begin(kind.name, "dst, src *byte, n int", kind.doc)
		dst, src, n := arg("dst"), arg("src"), arg("n")
		// Four loads before four stores keep several cache lines in flight.
		r := v.regs(4)
		loop("block", n, 4*v.bytes, func() {
			for i := 0; kind.name == "copyStream" && i < 4*v.bytes; i += 64 {
				PREFETCHT1(Mem{Base: src, Disp: 8192 + i})
			}
			for i := range r {
				v.load(Mem{Base: src, Disp: i * v.bytes}, r[i])
			}
			for i := range r {
				kind.store(r[i], Mem{Base: dst, Disp: i * v.bytes})
			}
			ADDQ(step32(4*v.bytes), src)
			ADDQ(step32(4*v.bytes), dst)
		})
		// Stores past the caches are weakly ordered; the caller must see them.
		if kind.name == "copyStream" {
			SFENCE()
		}
		end()
	}
}

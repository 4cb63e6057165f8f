package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// copies writes the copies that the ceiling is measured with.
func copies(v isa) {
	for _, kind := range []struct {
		name, doc string
		store     func(from, to Op)
	}{
		{"copy", "copies n bytes, a multiple of four vectors.", v.store},
		{"copyStream", "is copy with stores past the caches, that asks two pages before for what it reads; dst is aligned to the vector.", v.stream},
	} {
		v.begin(kind.name, "dst, src *byte, n int", kind.doc)
		dst, src, n := arg("dst"), arg("src"), arg("n")
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
		if kind.name == "copyStream" {
			SFENCE()
		}
		end()
	}
}

// Command asm writes the vector kernels of the image workload: the same
// kernels for AVX2 and for AVX-512 (F, BW, VL, and for Sobel VBMI and VNNI), in Go
// assembly.
//
// Run it with "go generate" in workloads/image; its output is committed.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set by the width of its vectors.
type isa struct {
	name  string
	bytes int
}

// wide reports whether v is AVX-512, whose instructions differ in places.
func (v isa) wide() bool { return v.bytes == 64 }

// reg allocates a vector register.
func (v isa) reg() VecVirtual {
	if v.wide() {
		return ZMM()
	}
	return YMM()
}

// regs allocates n vector registers.
func (v isa) regs(n int) []VecVirtual {
	all := make([]VecVirtual, n)
	for i := range all {
		all[i] = v.reg()
	}
	return all
}

// load and store move a vector from and to any address.
func (v isa) load(from, to Op) {
	if v.wide() {
		VMOVDQU64(from, to)
	} else {
		VMOVDQU(from, to)
	}
}

func (v isa) store(from, to Op) { v.load(from, to) }

// stream stores past the caches; the address is aligned to the vector.
func (v isa) stream(from, to Op) { VMOVNTDQ(from, to) }

// zero clears a register.
func (v isa) zero(r Op) {
	if v.wide() {
		VPXORQ(r, r, r)
	} else {
		VPXOR(r, r, r)
	}
}

// begin starts the variant of a function for v. The first paragraph of doc follows its name.
func (v isa) begin(name, signature string, doc ...string) {
	TEXT(name+v.name, NOSPLIT, "func("+signature+")")
	Pragma("noescape")
	Doc(append([]string{name + v.name + " " + doc[0]}, doc[1:]...)...)
}

// end returns from the function. VZEROUPPER avoids penalties of later SSE instructions.
func end() {
	VZEROUPPER()
	RET()
}

// arg loads a parameter into a general register.
func arg(name string) Register { return Load(Param(name), GP64()) }

// spread fills a vector with a 32-bit parameter.
func (v isa) spread(name string) VecVirtual {
	var r Register = GP32()
	if name == "factor" || name == "offset" {
		if at, err := Param(name).Resolve(); err == nil && at.Type.String() == "float32" {
			r = XMM()
		}
	}
	return v.fill(Load(Param(name), r))
}

// fill repeats the low 32 bits of a register.
func (v isa) fill(from Register) VecVirtual {
	r := v.reg()
	if g, ok := from.(GPVirtual); ok {
		VMOVD(g, r.AsX())
		from = r.AsX()
	}
	VPBROADCASTD(from, r)
	return r
}

// fillWords repeats a 16-bit number.
func (v isa) fillWords(n uint32) VecVirtual {
	r := GP32()
	MOVL(U32(n<<16|n), r)
	return v.fill(r)
}

// count loads a parameter as the count of a vector shift, which is in an XMM register.
func count(name string) VecVirtual {
	r := XMM()
	at, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VMOVQ(at.Addr, r)
	return r
}

// step32 is n as the constant of an addition; the assembler shortens a small one.
func step32(n int) Constant { return U32(n) }

// fetch prefetches the n bytes that are ahead bytes further into the second-level cache, and the
// bytes just ahead into the first.
func (v isa) fetch(at, ahead Register, n int) {
	for i := 0; i < n; i += 64 {
		PREFETCHT1(Mem{Base: at, Index: ahead, Scale: 1, Disp: i})
		PREFETCHT0(Mem{Base: at, Disp: 768 + i})
	}
}

// loop runs body, subtracts step from n, and repeats while n is above 0.
func loop(label string, n Register, step int, body func()) {
	Label(label)
	body()
	SUBQ(step32(step), n)
	JG(LabelRef(label))
}

// bytesOf defines a constant of the vector's size that repeats the pattern.
func (v isa) bytesOf(name string, pattern ...byte) Mem {
	m := GLOBL(name+v.name, RODATA|NOPTR)
	for i := range v.bytes {
		DATA(i, U8(pattern[i%len(pattern)]))
	}
	return m
}

// dwordsOf defines a constant of 32-bit numbers.
func dwordsOf(name string, values ...uint32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i, x := range values {
		DATA(4*i, U32(x))
	}
	return m
}

// qwordsOf defines a constant of 64-bit numbers.
func qwordsOf(name string, values ...uint64) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i, x := range values {
		DATA(8*i, U64(x))
	}
	return m
}

// constants are the permutations that several AVX-512 kernels share.
var constants struct{ even, odd Mem }

func main() {
	ConstraintExpr("amd64")
	// They restore the order of quadwords after lane-wise packing of two vectors.
	constants.even = qwordsOf("evenAVX512", 0, 1, 8, 9, 2, 3, 10, 11)
	constants.odd = qwordsOf("oddAVX512", 4, 5, 12, 13, 6, 7, 14, 15)
	// Every kernel is written once for each instruction set.
	for _, v := range []isa{{"AVX2", 32}, {"AVX512", 64}} {
		copies(v)
		flip(v)
		level := v.levels()
		gaussianDown(v, level)
		gaussianPair(v, level)
		gaussianAlong(v)
		rgb := rgbConstants(v)
		edge := edgeTables(v)
		luma(v, edge)
		sobel(v, edge)
		half(v, rgb)
		pointwise(v)
		resampleDown(v)
		resampleAlong(v)
	}
	TEXT("fence", NOSPLIT, "func()")
	Doc("fence orders stores past the caches before later stores.")
	SFENCE()
	RET()
	Generate()
}

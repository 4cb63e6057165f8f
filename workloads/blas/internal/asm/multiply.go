package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	// unroll is the number of steps along K between two tests for the end.
	unroll = 8
	// late is the number of steps along K in which one row of the tile of C is prefetched. Lines
	// that are prefetched earlier have left the first-level cache before they are used, because
	// every step loads 192 bytes of B. tail is the number of steps after that, in which the last
	// lines arrive: one step takes some 12 cycles.
	late, tail = 16, 48
	// lines is the number of lines of C that are prefetched in unroll steps: all rows of a tile, at
	// most 192 bytes, have up to four.
	lines = 4 * unroll / late
)

// tile is the state that the parts of multiply share: the sizes and the registers.
type tile struct {
	isa
	element
	// packed is whether the elements of A of one step are adjacent; otherwise those of a row are.
	packed bool
	acc    [][]reg.VecVirtual // the accumulators, by row and column of the tile
	// b points to step k of the panel of B, a[i/4] to step k of row i of A. The rows between are
	// multiples of rs away from it; r3 is 3*rs.
	a         []reg.GPVirtual
	b, rs, r3 reg.GPVirtual
}

// multiply writes the function that multiplies a strip of A by some panels of B. The panels are
// columns vectors wide: the whole tile, or fewer for the right edge of C.
func multiply(s isa, e element, columns int, packed bool) {
	name := "multiply" + e.name + s.name
	if columns < s.columns {
		name += fmt.Sprint("x", columns)
	}
	s.columns = columns
	nr := columns * s.vector / e.bytes
	rs, place := ", rs uintptr", "Element (i, l) of A lies rs*i bytes and l elements after a"
	if packed {
		name += "Packed"
		rs, place = "", fmt.Sprintf("Element (i, l) of A lies i+%d*l elements after a", s.rows)
	}
	TEXT(name, NOSPLIT, fmt.Sprintf(
		"func(k, panels int, a *%[1]s%[2]s, b, c *%[1]s, ldc uintptr, alpha *%[1]s, add bool, next *%[1]s, step, jump, also uintptr)", e.goType, rs))
	Pragma("noescape")
	Doc(
		fmt.Sprintf("%s sets, or with add increases, %d rows of C by alpha times A B, for %d columns of each of the panels of B.", name, s.rows, nr),
		place+", row i of C ldc*i bytes after c. The panels of B are packed and follow each other, k rows of that many columns each.",
		fmt.Sprintf("k and panels are at least 1. For the next call, memory from next on is prefetched: step bytes further for each %d steps along k, and jump bytes further for each panel. also is the distance in bytes of a second line that is prefetched with each.", unroll),
	)
	t := &tile{isa: s, element: e, packed: packed}
	t.b = Load(Param("b"), GP64()).(reg.GPVirtual)
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64()).(reg.GPVirtual)
	t.a = []reg.GPVirtual{GP64()}
	if !packed {
		Comment("Row i of A is a[i/4] + {0, 1, 2, 3}[i%4]*rs.")
		t.rs, t.r3 = Load(Param("rs"), GP64()).(reg.GPVirtual), GP64()
		LEAQ(Mem{Base: t.rs, Index: t.rs, Scale: 2}, t.r3)
		for len(t.a) < s.rows/4 {
			t.a = append(t.a, GP64())
		}
	}
	// One accumulator for each row and vector of the tile.
	for range s.rows {
		line := make([]reg.VecVirtual, s.columns)
		for j := range line {
			line[j] = s.register()
		}
		t.acc = append(t.acc, line)
	}
	next := Load(Param("next"), GP64())
	stride, also := Load(Param("step"), GP64()), Load(Param("also"), GP64())
	tileRow := GP64()
	stepBytes := s.columns * s.vector

	// For each panel of B the strip of A is read again from its first column.
	Label("panel")
	Load(Param("a"), t.a[0])
	for i := range t.a[1:] {
		LEAQ(Mem{Base: t.a[i], Index: t.rs, Scale: 4}, t.a[i+1])
	}
	fetch := GP64()
	MOVQ(next, fetch)
	k := GP64()
	MOVQ(c, tileRow)
	for _, line := range t.acc {
		for _, r := range line {
			s.zero(r)
		}
	}
	Load(Param("k"), k)
	Comment("First all steps but the last ones, if k is that large.")
	early := GP64()
	last := late*s.rows + tail
	LEAQ(Mem{Base: k, Disp: -last}, early)
	CMPQ(k, U32(uint32(last)))
	CMOVQGE(early, k)

	// unroll steps along K at a time; fetch walks through the memory for the next call.
	Label("run")
	SUBQ(Imm(unroll), k)
	JLT(LabelRef("rest"))
	Label("steps")
	Comment("B needs no prefetch: the processor detects that it is read in order.")
	ahead(fetch, stride, also)
	t.steps(unroll)
	SUBQ(Imm(unroll), k)
	JGE(LabelRef("steps"))

	// The last k%unroll steps, one by one.
	Label("rest")
	ADDQ(Imm(unroll), k)
	JEQ(LabelRef("done"))
	Label("single")
	t.steps(1)
	DECQ(k)
	JNE(LabelRef("single"))

	// A short k has no prefetch of C. Otherwise tileRow is still at c after the early steps:
	// prefetch C during the next steps, and run the tail.
	Label("done")
	CMPQ(argument("k"), U32(uint32(last)))
	JLT(LabelRef("store"))
	CMPQ(tileRow, c)
	JNE(LabelRef("store"))
	Comment("The tile of C is fetched line by line: many at once would stop the loads of B until they are there.")
	MOVQ(U32(uint32(late/unroll*s.rows)), k)
	Label("row")
	line := GP64()
	MOVQ(tileRow, line)
	ADDQ(ldc, tileRow)
	Label("line")
	gap := (stepBytes - 1) / (lines*late/unroll - 1)
	for i := range lines {
		PREFETCHT0(Mem{Base: line, Disp: i * gap})
	}
	ADDQ(Imm(uint64(lines*gap)), line)
	ahead(fetch, stride, also)
	t.steps(unroll)
	DECQ(k)
	TESTQ(U32(late/unroll-1), k)
	JNE(LabelRef("line"))
	TESTQ(k, k)
	JNE(LabelRef("row"))
	MOVQ(U32(tail), k)
	JMP(LabelRef("run"))

	// The tile is complete: store it, and move to the next panel and columns of C.
	Label("store")
	t.store(c, ldc)
	ADDQ(I32(stepBytes), c)
	jump := GP64()
	Load(Param("jump"), jump)
	ADDQ(jump, next)
	Comment("The argument itself is the counter: registers are scarce.")
	DECQ(argument("panels"))
	JNE(LabelRef("panel"))
	VZEROUPPER()
	RET()
}

// ahead prefetches two lines of the next call's A into the second-level cache.
func ahead(line, stride, also reg.Register) {
	PREFETCHT1(Mem{Base: line})
	PREFETCHT1(Mem{Base: line, Index: also, Scale: 1})
	ADDQ(stride, line)
}

// argument returns the address of an integer argument, for instructions that use it in memory.
func argument(name string) Op {
	found, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return found.Addr
}

// steps adds the products of n columns of A and rows of B. Addresses are constant offsets from
// registers that move once for all n. An addition for each column would cost little on a core of
// its own, and up to 8 % on one that is shared with another thread.
func (t *tile) steps(n int) {
	for u := range n {
		bs := make([]reg.VecVirtual, t.columns)
		for j := range bs {
			bs[j] = t.register()
			t.load(Mem{Base: t.b, Disp: (u*t.columns + j) * t.vector}, bs[j])
		}
		for i := range t.rows {
			x := t.register()
			t.broadcast(t.at(i, u), x)
			for j := range bs {
				t.fma231(x, bs[j], t.acc[i][j])
			}
		}
	}
	ADDQ(I32(n*t.columns*t.vector), t.b)
	width := t.bytes
	if t.packed {
		width *= t.rows
	}
	for _, a := range t.a {
		ADDQ(I32(n*width), a)
	}
}

// at is the address of element (i, u) of A, counted from the current step.
func (t *tile) at(i, u int) Mem {
	if t.packed {
		return Mem{Base: t.a[0], Disp: (u*t.rows + i) * t.bytes}
	}
	m := Mem{Base: t.a[i/4], Disp: u * t.bytes}
	switch i % 4 {
	case 1, 2:
		m.Index, m.Scale = t.rs, uint8(i%4)
	case 3:
		m.Index, m.Scale = t.r3, 1
	}
	return m
}

// store writes alpha times the accumulators to C, or adds them to it.
func (t *tile) store(c, ldc reg.Register) {
	alpha, at := t.register(), GP64()
	Load(Param("alpha"), at)
	t.broadcast(Mem{Base: at}, alpha)
	MOVQ(c, at)
	add := GP8()
	Load(Param("add"), add)
	TESTB(add, add)
	JNE(LabelRef("add"))
	// C = alpha * sums
	for i, line := range t.acc {
		for j, r := range line {
			t.mul(alpha, r, r)
			t.load(r, Mem{Base: at, Disp: j * t.vector})
		}
		if i < len(t.acc)-1 {
			ADDQ(ldc, at)
		}
	}
	JMP(LabelRef("stored"))
	// C += alpha * sums
	Label("add")
	for i, line := range t.acc {
		for j, r := range line {
			t.fma213(Mem{Base: at, Disp: j * t.vector}, alpha, r)
			t.load(r, Mem{Base: at, Disp: j * t.vector})
		}
		if i < len(t.acc)-1 {
			ADDQ(ldc, at)
		}
	}
	Label("stored")
}

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	// unroll is the number of steps along K between two tests for the end.
	unroll = 4
	// late is how many steps the fetching of the tile of C takes, a row of it in each of
	// as many equal parts. What is fetched earlier has left the first-level cache again when
	// it is used: 192 bytes of B come in a step. tail is how many steps follow, in which
	// the last lines arrive: one takes some 12 cycles.
	late, tail = 128, 48
)

// tile is what the parts of multiply share.
type tile struct {
	isa
	element
	acc [][]reg.VecVirtual
	// a and b stand at step k of the panels of A and B; row[i] is what row i
	// of A is away from a.
	a, b  reg.GPVirtual
	strde [3]reg.GPVirtual
	rs    reg.GPVirtual
	cs    reg.GPVirtual
}

// multiply writes the function that multiplies one panel of A by some of B, whose
// panels are as many vectors wide as there are columns: all of the tile, or fewer
// for what is left at the right of C.
func multiply(s isa, e element, columns int) {
	name := "multiply" + e.name + s.name
	if columns < s.columns {
		name += fmt.Sprint("x", columns)
	}
	s.columns = columns
	nr := columns * s.vector / e.bytes
	TEXT(name, NOSPLIT, fmt.Sprintf(
		"func(k, panels int, a *%[1]s, rs, cs uintptr, b, c *%[1]s, ldc uintptr, alpha *%[1]s, add bool, next *%[1]s, step, jump uintptr)", e.goType))
	Pragma("noescape")
	Doc(
		fmt.Sprintf("%s sets, or with add increases, %d rows of C by alpha times A B, for %d columns of each of the panels of B.", name, s.rows, nr),
		"Element (i, l) of A lies rs*i+cs*l bytes after a, row i of C ldc*i bytes after c. The panels of B are packed and follow each other, k rows of that many columns each.",
		"k and panels are at least 1. From next on memory is fetched into the cache for the call after this one: step bytes further for each 4 steps along k, and jump bytes further for each panel.",
	)
	t := &tile{isa: s, element: e}
	Comment("Row i of A is a + {0, 1, 2, 3, 4, 5, 6, 7}[i]*rs: multiples that no scale gives are kept.")
	t.rs = Load(Param("rs"), GP64()).(reg.GPVirtual)
	t.strde[0] = GP64()
	LEAQ(Mem{Base: t.rs, Index: t.rs, Scale: 2}, t.strde[0])
	if s.rows > 4 {
		t.strde[1], t.strde[2] = GP64(), GP64()
		LEAQ(Mem{Base: t.rs, Index: t.rs, Scale: 4}, t.strde[1])
		LEAQ(Mem{Base: t.strde[0], Index: t.rs, Scale: 4}, t.strde[2])
	}
	t.cs = Load(Param("cs"), GP64()).(reg.GPVirtual)
	t.b = Load(Param("b"), GP64()).(reg.GPVirtual)
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64()).(reg.GPVirtual)
	t.a = GP64()
	for range s.rows {
		line := make([]reg.VecVirtual, s.columns)
		for j := range line {
			line[j] = s.register()
		}
		t.acc = append(t.acc, line)
	}
	next := Load(Param("next"), GP64())
	stride := Load(Param("step"), GP64())
	tileRow := GP64()
	stepBytes := s.columns * s.vector

	Label("panel")
	Load(Param("a"), t.a)
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
	Comment("First all steps but the last ones, where there are so many.")
	early := GP64()
	LEAQ(Mem{Base: k, Disp: -(late + tail)}, early)
	CMPQ(k, U32(late+tail))
	CMOVQGE(early, k)

	Label("run")
	SUBQ(Imm(unroll), k)
	JLT(LabelRef("rest"))

	Label("steps")
	t.steps(fetch, stride)
	SUBQ(Imm(unroll), k)
	JGE(LabelRef("steps"))

	Label("rest")
	ADDQ(Imm(unroll), k)
	JEQ(LabelRef("done"))
	Label("single")
	t.step(0)
	ADDQ(I32(stepBytes), t.b)
	DECQ(k)
	JNE(LabelRef("single"))

	Label("done")
	CMPQ(argument("k"), U32(late+tail))
	JLT(LabelRef("store"))
	CMPQ(tileRow, c)
	JNE(LabelRef("store"))
	Comment("The tile of C is fetched line by line: many at once would stop the loads of B until they are there.")
	MOVQ(U32(late/unroll), k)
	Label("row")
	line := GP64()
	MOVQ(tileRow, line)
	ADDQ(ldc, tileRow)
	Label("line")
	parts := late / unroll / s.rows
	PREFETCHT0(Mem{Base: line})
	ADDQ(Imm(uint64((stepBytes-1)/(parts-1))), line)
	t.steps(fetch, stride)
	DECQ(k)
	TESTQ(U32(uint32(parts-1)), k)
	JNE(LabelRef("line"))
	TESTQ(k, k)
	JNE(LabelRef("row"))
	MOVQ(U32(tail), k)
	JMP(LabelRef("run"))

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

// argument is where the function was given an integer.
func argument(name string) Op {
	found, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return found.Addr
}

// steps does unroll steps and fetches some of the next panel of A. B is not fetched: the
// processor sees by itself that it is read in order, and a core that is shared with another
// has no instructions to spare.
func (t *tile) steps(fetch, stride reg.Register) {
	stepBytes := t.columns * t.vector
	PREFETCHT1(Mem{Base: fetch})
	for u := range unroll {
		t.step(u * stepBytes)
	}
	ADDQ(I32(unroll*stepBytes), t.b)
	ADDQ(stride, fetch)
}

// row addresses row i of A at the current step.
func (t *tile) row(i int) Mem {
	m := Mem{Base: t.a}
	switch i {
	case 1, 2, 4:
		m.Index, m.Scale = t.rs, uint8(i)
	case 3:
		m.Index, m.Scale = t.strde[0], 1
	case 6:
		m.Index, m.Scale = t.strde[0], 2
	case 5:
		m.Index, m.Scale = t.strde[1], 1
	case 7:
		m.Index, m.Scale = t.strde[2], 1
	}
	return m
}

// step adds the product of a column of A and a row of B, disp bytes after b.
func (t *tile) step(disp int) {
	bs := make([]reg.VecVirtual, t.columns)
	for j := range bs {
		bs[j] = t.register()
		t.load(Mem{Base: t.b, Disp: disp + j*t.vector}, bs[j])
	}
	for i := range t.rows {
		x := t.register()
		t.broadcast(t.row(i), x)
		for j := range bs {
			t.fma231(x, bs[j], t.acc[i][j])
		}
	}
	ADDQ(t.cs, t.a)
}

// store puts alpha times the accumulators into C, or adds them to it.
func (t *tile) store(c, ldc reg.Register) {
	alpha, at := t.register(), GP64()
	Load(Param("alpha"), at)
	t.broadcast(Mem{Base: at}, alpha)
	MOVQ(c, at)
	add := GP8()
	Load(Param("add"), add)
	TESTB(add, add)
	JNE(LabelRef("add"))
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

package neon

import (
	"fmt"
	"slices"
)

// word writes an instruction by its code, with Arm's mnemonic in a comment.
func (f *File) word(code uint32, format string, values ...any) {
	f.Line("WORD $0x%08X // %s", code, fmt.Sprintf(format, values...))
}

// Lane is an element of a register.
type Lane struct{ Register, Index int }

// widths are the bits of elements, as instructions number them.
var widths = []string{"b", "h", "s", "d"}

// shape reads an arrangement such as "8h": the index of the element's width in widths, and
// whether it fills a register. It panics on an unknown one.
func shape(arrangement string) (width uint32, whole bool) {
	at := slices.Index(widths, arrangement[len(arrangement)-1:])
	if at < 0 {
		panic("no arrangement " + arrangement)
	}
	return uint32(at), arrangement == []string{"16b", "8h", "4s", "2d"}[at]
}

// fullOf returns the arrangement of a whole register of that width.
func fullOf(width uint32) string { return []string{"16b", "8h", "4s", "2d"}[width] }

func bit(set bool, at int) uint32 {
	if set {
		return 1 << at
	}
	return 0
}

// code returns the code of an instruction. It panics on an unknown name.
func code(table map[string]uint32, name string) uint32 {
	c, ok := table[name]
	if !ok {
		panic("no instruction " + name)
	}
	return c
}

// The codes are from the Arm Architecture Reference Manual, C4.1.96 (encoding of Advanced
// SIMD), with U in bit 29 and the rest of the operation where it is in the word.
var (
	// three registers of the same arrangement
	same = map[string]uint32{
		"uqadd": 1<<29 | 0b00001<<11, "uqsub": 1<<29 | 0b00101<<11, "sshl": 0b01000 << 11, "ushl": 1<<29 | 0b01000<<11,
		"umax": 1<<29 | 0b01100<<11, "uabd": 1<<29 | 0b01110<<11, "sqrdmulh": 1<<29 | 0b10110<<11,
	}
	// three registers, of which the first has elements twice as wide
	long = map[string]uint32{
		"saddl": 0, "uaddl": 1 << 29, "umlal": 1<<29 | 0b1000<<12, "umull": 1<<29 | 0b1100<<12,
	}
	// two registers, of which the first has elements half as wide
	narrow = map[string]uint32{"sqxtn": 0b10100 << 12, "uqxtn": 1<<29 | 0b10100<<12, "sqxtun": 1<<29 | 0b10010<<12}
	// as narrow, with a shift
	shifted = map[string]uint32{"shrn": 0b10000 << 11, "rshrn": 0b10001 << 11, "sqrshrn": 0b10011 << 11}
	// two registers, of which the first has half as many elements, twice as wide
	pairwise = map[string]uint32{"uaddlp": 1<<29 | 0b00010<<12, "uadalp": 1<<29 | 0b00110<<12}
	// two registers of floats or whole numbers of 32 bits
	convert = map[string]uint32{"ucvtf": 0x6E21D800, "fcvtzs": 0x4EA1B800}
	// three registers, of the third one element; for floats of 32 bits
	byElement = map[string]uint32{"fmla": 0x4F801000, "fmul": 0x4F809000}
)

// Same writes d = n op m.
func (f *File) Same(name, arrangement string, d, n, m int) {
	width, whole := shape(arrangement)
	f.word(0x0E200400|bit(whole, 30)|code(same, name)|width<<22|uint32(m)<<16|uint32(n)<<5|uint32(d),
		"%s v%d.%s, v%d.%s, v%d.%s", name, d, arrangement, n, arrangement, m, arrangement)
}

// second is the name of an instruction that works on the upper halves of narrow registers.
func second(name string, whole bool) string {
	if whole {
		return name + "2"
	}
	return name
}

// Long writes d = n op m, or d += n op m. The arrangement is that of n and m; a whole one
// means their upper halves.
func (f *File) Long(name, arrangement string, d, n, m int) {
	width, whole := shape(arrangement)
	f.word(0x0E200000|bit(whole, 30)|code(long, name)|width<<22|uint32(m)<<16|uint32(n)<<5|uint32(d),
		"%s v%d.%s, v%d.%s, v%d.%s", second(name, whole), d, fullOf(width+1), n, arrangement, m, arrangement)
}

// LongByElement writes d += n * x for words and sums of 32 bits. x is in one of the first
// 16 registers; the arrangement is that of n, and a whole one means its upper half.
func (f *File) LongByElement(arrangement string, d, n int, x Lane) {
	width, whole := shape(arrangement)
	if width != 1 || x.Register > 15 {
		panic(fmt.Sprint("no element ", x, " for ", arrangement))
	}
	i := uint32(x.Index)
	f.word(0x0F402000|bit(whole, 30)|i&1<<20|i>>1&1<<21|i>>2<<11|uint32(x.Register)<<16|uint32(n)<<5|uint32(d),
		"%s v%d.4s, v%d.%s, v%d.h[%d]", second("smlal", whole), d, n, arrangement, x.Register, x.Index)
}

// ByElement writes d += n * x (fmla), or d = n * x (fmul), for floats of that many bytes.
func (f *File) ByElement(name string, bytes, d, n int, x Lane) {
	c, i := code(byElement, name), uint32(x.Index)
	width := uint32(2)
	if bytes == 8 {
		width, c = 3, c|1<<22|i<<11
	} else {
		c |= i&1<<21 | i>>1<<11
	}
	f.word(c|uint32(x.Register)<<16|uint32(n)<<5|uint32(d),
		"%s v%d.%s, v%d.%s, v%d.%s[%d]", name, d, fullOf(width), n, fullOf(width), x.Register, widths[width], x.Index)
}

// Narrow writes d = n, saturated to elements half as wide. The arrangement is that of d; a
// whole one means its upper half.
func (f *File) Narrow(name, arrangement string, d, n int) {
	width, whole := shape(arrangement)
	f.word(0x0E200800|bit(whole, 30)|code(narrow, name)|width<<22|uint32(n)<<5|uint32(d),
		"%s v%d.%s, v%d.%s", second(name, whole), d, arrangement, n, fullOf(width+1))
}

// NarrowShift is Narrow after a shift to the right.
func (f *File) NarrowShift(name, arrangement string, d, n, shift int) {
	width, whole := shape(arrangement)
	f.word(0x0F000400|bit(whole, 30)|code(shifted, name)|uint32(16<<width-shift)<<16|uint32(n)<<5|uint32(d),
		"%s v%d.%s, v%d.%s, #%d", second(name, whole), d, arrangement, n, fullOf(width+1), shift)
}

// ShiftCut writes d = n shifted to the left, saturated to unsigned elements.
func (f *File) ShiftCut(arrangement string, d, n, shift int) {
	width, whole := shape(arrangement)
	f.word(0x2F007400|bit(whole, 30)|uint32(8<<width+shift)<<16|uint32(n)<<5|uint32(d),
		"uqshl v%d.%s, v%d.%s, #%d", d, arrangement, n, arrangement, shift)
}

// Pairwise writes d = the sums of two neighbours in n, or adds them to it. The arrangement is
// that of n, a whole one.
func (f *File) Pairwise(name, arrangement string, d, n int) {
	width, _ := shape(arrangement)
	f.word(0x4E200800|code(pairwise, name)|width<<22|uint32(n)<<5|uint32(d),
		"%s v%d.%s, v%d.%s", name, d, fullOf(width+1), n, arrangement)
}

// Convert writes d = n between floats and whole numbers of 32 bits.
func (f *File) Convert(name string, d, n int) {
	f.word(code(convert, name)|uint32(n)<<5|uint32(d), "%s v%d.4s, v%d.4s", name, d, n)
}

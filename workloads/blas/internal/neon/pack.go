package main

// packRows writes the function that packs B where its rows lie in memory as they are
// wanted. It copies bytes, so one serves both element types.
func (f *file) packRows() {
	f.function("packRowsNEON", "dst, src *byte, ld uintptr, k, panels int, gap uintptr", 48,
		"packRowsNEON copies k rows, which lie ld bytes apart from src on, into panels: the vectors of row l for one panel lie together, those for the next panel gap bytes further.",
		"k and panels are at least 1.")
	f.line("MOVD dst+0(FP), R0")
	f.line("MOVD src+8(FP), R1")
	f.line("MOVD ld+16(FP), R2")
	f.line("MOVD k+24(FP), R3")
	f.line("MOVD gap+40(FP), R4")
	f.label("row")
	f.line("MOVD R0, R5")
	f.line("MOVD R1, R6")
	f.line("MOVD panels+32(FP), R7")
	f.comment("The processor fetches along a row by itself, but not the row after the next.")
	f.line("ADD R2<<1, R1, R8")
	f.label("panel")
	f.line("PRFM (R8), PLDL2KEEP")
	f.line("PRFM %d(R8), PLDL2KEEP", 64)
	f.line("ADD $%d, R8", panelBytes)
	f.pairs("FLDPQ", 6, 0, 0, tileColumns)
	f.pairs("FSTPQ", 5, 0, 0, tileColumns)
	f.line("ADD $%d, R6", panelBytes)
	f.line("ADD R4, R5")
	f.line("SUBS $1, R7")
	f.line("BNE panel")
	f.line("ADD R2, R1")
	f.line("ADD $%d, R0", panelBytes)
	f.line("SUBS $1, R3")
	f.line("BNE row")
	f.line("RET")
}

// transpose writes what the transpositions share: a loop over blocks of 4 columns of 4
// rows, which stand at R0, R3, R4 and R5 of dst and R1, R6, R7 and R8 of src.
func (f *file) transpose(e element, block func()) {
	name := "transpose" + e.name
	f.function(name, "dst *"+e.goType+", gap uintptr, src *"+e.goType+", ld uintptr, blocks int", 40,
		name+" transposes 4 rows, which lie ld bytes apart from src on, 4 columns for each of the blocks: column l is written gap*l bytes after dst.",
		"blocks is at least 1.")
	f.line("MOVD dst+0(FP), R0")
	f.line("MOVD gap+8(FP), R2")
	f.line("MOVD src+16(FP), R1")
	f.line("MOVD ld+24(FP), R9")
	f.line("MOVD blocks+32(FP), R10")
	for _, rows := range [][3]int{{0, 3, 2}, {3, 4, 2}, {4, 5, 2}, {1, 6, 9}, {6, 7, 9}, {7, 8, 9}} {
		f.line("ADD R%d, R%d, R%d", rows[2], rows[0], rows[1])
	}
	f.label("block")
	block()
	for _, r := range []int{0, 3, 4, 5} {
		f.line("ADD R2<<2, R%d", r)
	}
	for _, r := range []int{1, 6, 7, 8} {
		f.line("ADD $%d, R%d", 4*e.bytes, r)
	}
	f.line("SUBS $1, R10")
	f.line("BNE block")
	f.line("RET")
}

// zip writes d = the low, or the high, elements of x and y in turn.
func (f *file) zip(high bool, arrangement string, x, y, d int) {
	operation := "VZIP1"
	if high {
		operation = "VZIP2"
	}
	f.line("%s V%d.%s, V%d.%s, V%d.%s", operation, y, arrangement, x, arrangement, d, arrangement)
}

var (
	sourceRows      = [4]int{1, 6, 7, 8}
	destinationRows = [4]int{0, 3, 4, 5}
)

func (f *file) transpose64() {
	e := elements[0]
	f.transpose(e, func() {
		for i, r := range sourceRows {
			f.pairs("FLDPQ", r, 0, 2*i, 2)
		}
		for column, r := range destinationRows {
			half, high := column/2, column%2 == 1
			for pair := range 2 {
				f.zip(high, e.arrangement, 4*pair+half, 4*pair+2+half, 8+2*column+pair)
			}
			f.pairs("FSTPQ", r, 0, 8+2*column, 2)
		}
	})
}

func (f *file) transpose32() {
	e := elements[1]
	f.transpose(e, func() {
		for i, r := range sourceRows {
			f.line("FMOVQ (R%d), F%d", r, i)
		}
		for half := range 2 {
			f.zip(half == 1, e.arrangement, 0, 2, 4+half)
			f.zip(half == 1, e.arrangement, 1, 3, 6+half)
		}
		for column, r := range destinationRows {
			f.zip(column%2 == 1, e.arrangement, 4+column/2, 6+column/2, 8+column)
			f.line("FMOVQ F%d, (R%d)", 8+column, r)
		}
	})
}

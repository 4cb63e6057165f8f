package main

// packRows writes the function that packs rows of B that are not transposed. It copies bytes,
// so one function serves both element types.
func (f *file) packRows() {
	f.Function("packRowsNEON", "dst, src *byte, ld uintptr, k, panels int, gap uintptr",
		"packRowsNEON copies k rows, which lie ld bytes apart from src on, into panels: the vectors of row l for one panel lie together, those for the next panel gap bytes further.",
		"k and panels are at least 1.")
	f.Line("MOVD %s, R0", f.Parameter("dst"))
	f.Line("MOVD %s, R1", f.Parameter("src"))
	f.Line("MOVD %s, R2", f.Parameter("ld"))
	f.Line("MOVD %s, R3", f.Parameter("k"))
	f.Line("MOVD %s, R4", f.Parameter("gap"))
	f.Label("row")
	f.Line("MOVD R0, R5")
	f.Line("MOVD R1, R6")
	f.Line("MOVD %s, R7", f.Parameter("panels"))
	f.Comment("The processor prefetches along a row on its own, but not the row after the next.")
	f.Line("ADD R2<<1, R1, R8")
	// R6 is in the row of src, R5 in the row's part of each panel.
	f.Label("panel")
	f.Line("PRFM (R8), PLDL2KEEP")
	f.Line("PRFM %d(R8), PLDL2KEEP", 64)
	f.Line("ADD $%d, R8", panelBytes)
	f.Load(6, 0, 0, tileColumns)
	f.Store(5, 0, 0, tileColumns)
	f.Line("ADD $%d, R6", panelBytes)
	f.Line("ADD R4, R5")
	f.Line("SUBS $1, R7")
	f.Line("BNE panel")
	f.Line("ADD R2, R1")
	f.Line("ADD $%d, R0", panelBytes)
	f.Line("SUBS $1, R3")
	f.Line("BNE row")
	f.Line("RET")
}

// transpose writes the part that the transpositions share: a loop over blocks of 4 columns of 4
// rows. R0, R3, R4 and R5 point into dst, R1, R6, R7 and R8 into src. block writes the body.
func (f *file) transpose(e element, block func()) {
	name := "transpose" + e.name
	f.Function(name, "dst *"+e.goType+", gap uintptr, src *"+e.goType+", ld uintptr, blocks int",
		name+" transposes 4 rows, which lie ld bytes apart from src on, 4 columns for each of the blocks: column l is written gap*l bytes after dst.",
		"blocks is at least 1.")
	f.Line("MOVD %s, R0", f.Parameter("dst"))
	f.Line("MOVD %s, R2", f.Parameter("gap"))
	f.Line("MOVD %s, R1", f.Parameter("src"))
	f.Line("MOVD %s, R9", f.Parameter("ld"))
	f.Line("MOVD %s, R10", f.Parameter("blocks"))
	// Each register is the one before plus the distance between rows.
	for _, rows := range [][3]int{{0, 3, 2}, {3, 4, 2}, {4, 5, 2}, {1, 6, 9}, {6, 7, 9}, {7, 8, 9}} {
		f.Line("ADD R%d, R%d, R%d", rows[2], rows[0], rows[1])
	}
	f.Label("block")
	block()
	for _, r := range []int{0, 3, 4, 5} {
		f.Line("ADD R2<<2, R%d", r)
	}
	for _, r := range []int{1, 6, 7, 8} {
		f.Line("ADD $%d, R%d", 4*e.bytes, r)
	}
	f.Line("SUBS $1, R10")
	f.Line("BNE block")
	f.Line("RET")
}

// zip interleaves the low, or the high, elements of x and y into d.
func (f *file) zip(high bool, arrangement string, x, y, d int) {
	operation := "VZIP1"
	if high {
		operation = "VZIP2"
	}
	f.Line("%s V%d.%s, V%d.%s, V%d.%s", operation, y, arrangement, x, arrangement, d, arrangement)
}

// sourceRows and destinationRows are the registers that point to the rows of a block.
var (
	sourceRows      = [4]int{1, 6, 7, 8}
	destinationRows = [4]int{0, 3, 4, 5}
)

// transpose64 writes the transposition of 4x4 float64s, two registers to a row.
func (f *file) transpose64() {
	e := elements[0]
	f.transpose(e, func() {
		for i, r := range sourceRows {
			f.Load(r, 0, 2*i, 2)
		}
		for column, r := range destinationRows {
			// Columns 0 and 1 are in the first registers of the rows, 2 and 3 in the second.
			half, high := column/2, column%2 == 1
			for pair := range 2 {
				f.zip(high, e.arrangement, 4*pair+half, 4*pair+2+half, 8+2*column+pair)
			}
			f.Store(r, 0, 8+2*column, 2)
		}
	})
}

// transpose32 writes the transposition of 4x4 float32s: single elements, then pairs.
func (f *file) transpose32() {
	e := elements[1]
	f.transpose(e, func() {
		for i, r := range sourceRows {
			f.Line("FMOVQ (R%d), F%d", r, i)
		}
		// Elements of rows 0 and 2, and of 1 and 3, alternate in registers 4 to 7.
		for half := range 2 {
			f.zip(half == 1, e.arrangement, 0, 2, 4+half)
			f.zip(half == 1, e.arrangement, 1, 3, 6+half)
		}
		for column, r := range destinationRows {
			f.zip(column%2 == 1, e.arrangement, 4+column/2, 6+column/2, 8+column)
			f.Line("FMOVQ F%d, (R%d)", 8+column, r)
		}
	})
}

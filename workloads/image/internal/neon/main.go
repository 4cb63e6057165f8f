// Command neon writes the arm64 kernels of package image into a directory: the assembly
// kernels_arm64.s and its declarations kernels_arm64.go. Command internal/asm writes those for
// amd64.
package main

import (
	"strconv"

	"github.com/batchctl/batchctl/workloads/internal/neon"
)

// block is the size in bytes of what the package treats as a vector: two registers, so that a
// quarter of it is eight pixels.
const block = 32

// file collects the kernels.
type file struct{ *neon.File }

func main() {
	neon.Main("image", func(n *neon.File) {
		f := file{n}
		f.copy()
		f.flip()
		f.gaussianAlong()
		f.gaussianDown()
		f.luma()
		f.sobel()
		f.half()
		f.scaleWords()
		f.scale()
		f.toFloat()
		f.resampleDown()
		f.resampleAlong()
	})
}

// loop runs body, subtracts step from register r, and repeats while r is above 0.
func (f file) loop(label string, r, step int, body func()) {
	f.Label(label)
	body()
	f.Line("SUBS $%d, R%d", step, r)
	f.Line("BGT %s", label)
}

// widths runs body for several blocks at a time, and then for fewer, while that many bytes are
// left in register r. The suffix makes the labels of body unique.
func (f file) widths(r int, widest int, body func(blocks int, suffix string)) {
	for blocks := widest; blocks > 0; blocks /= 2 {
		suffix := strconv.Itoa(blocks)
		f.Label("columns" + suffix)
		f.Line("CMP $%d, R%d", blocks*block, r)
		f.Line("BLT over%s", suffix)
		body(blocks, suffix)
		f.Line("SUB $%d, R%d", blocks*block, r)
		f.Line("B columns%s", suffix)
		f.Label("over" + suffix)
	}
	// Fewer bytes than a block are left to the caller.
	f.Line("RET")
}

// copy writes the copy that measures the ceiling.
func (f file) copy() {
	f.Function("copyNEON", "dst, src *byte, n int", "copyNEON copies n bytes, a multiple of 128.")
	f.Parameters("dst", "src", "n")
	f.loop("bytes", 2, 4*block, func() {
		f.Load(1, 0, 0, 8)
		f.Store(0, 0, 0, 8)
		f.Line("ADD $%d, R1", 4*block)
		f.Line("ADD $%d, R0", 4*block)
	})
	f.Line("RET")
}

// widen writes the conversion of a register of bytes to two registers of words.
func (f file) widen(from, low, high int) {
	f.Line("VUXTL V%d.B8, V%d.H8", from, low)
	f.Line("VUXTL2 V%d.B16, V%d.H8", from, high)
}

// Command neon writes the arm64 kernels of package blas into a directory: the assembly
// kernels_arm64.s and its declarations kernels_arm64.go. Command internal/asm writes those
// for amd64.
package main

import "github.com/batchctl/batchctl/workloads/internal/neon"

func main() {
	neon.Main("blas", func(n *neon.File) {
		f := &file{n}
		for _, e := range elements {
			// The kernel of whole panels, and those of two thirds and of one third.
			for columns := tileColumns; columns > 0; columns -= tileColumns / 3 {
				f.multiply(e, columns, false)
				f.multiply(e, columns, true)
			}
		}
		for _, e := range elements {
			f.peak(e)
		}
		f.packRows()
		f.transpose64()
		f.transpose32()
	})
}

// file collects the kernels.
type file struct{ *neon.File }

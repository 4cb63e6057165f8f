// Command neon writes the arm64 kernels of package blas into a directory, as package
// internal/asm does the others: kernels_arm64.s and the declarations kernels_arm64.go.
package main

import "github.com/batchctl/batchctl/workloads/internal/neon"

func main() {
	neon.Main("blas", func(n *neon.File) {
		f := &file{n}
		for _, e := range elements {
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

// file is what the kernels are written into.
type file struct{ *neon.File }

package image

//go:generate go -C internal/asm run . -out ../../kernels_amd64.s -stubs ../../kernels_amd64.go -pkg image
//go:generate go run ./internal/neon

// simd is an instruction set with its kernels. The generators in internal/asm and internal/neon
// document them. A nil simd means portable Go.
type simd struct {
	name string
	// bytes is the size of a vector. Rows with fewer samples are left to portable Go.
	bytes int

	fence              func() // orders stores past the caches before later stores
	copy, copyStream   func(dst, src *byte, n int)
	words, wordsStream func(dst, src *byte, n int, factor, more, less uint32, shift uint64)
	scale, scaleStream func(dst, src *byte, n int, factor, offset float32)
	float, floatStream func(dst, src *byte, n int, factor, offset float32)
	flip               func(out, pix *byte, ahead uintptr, n int)
	gaussianAlong      func(out *int16, line *byte, weights *int32, terms, step, n int)
	gaussianDown       func(out *byte, rows **int16, weights *int32, terms, x, n int)
	// gaussianPair is gaussianDown for two rows; nil where only gaussianDown is written.
	gaussianPair               func(out, below *byte, rows **int16, weights *int32, terms, x, n int)
	luma                       func(out, pix *byte, n int)
	sobel                      func(out, outBelow, above, below *byte, apart uintptr, n int)
	sobelLuma, sobelLumaStream func(next, pix *byte, down, ahead uintptr, out, outBelow, above, below *byte,
		apart uintptr, n int)
	half         func(out, above, below *byte, n int)
	halfStream   func(out, above, below *byte, ahead uintptr, n int)
	resampleDown func(out *int16, rows **byte, weights *int32, pairs, x, end int, bias int32,
		shift uint64)
	resampleAlong func(out *byte, line *int16, offsets *int32, weights *int16, pairs, n int, bias int32,
		shift uint64)
}

// kernels returns a kernel for each instruction set of the processor, the best first, and then the
// portable one. Rows narrower than a vector always use the portable one, which has the same
// arithmetic.
func kernels(prepare func(v *simd, p Params, dst, src Shape) rows) []Kernel {
	var all []Kernel
	for _, v := range instructionSets() {
		all = append(all, Kernel{Name: v.name, prepare: func(p Params, dst, src Shape) rows {
			if src.W*src.Channels < v.bytes {
				return prepare(nil, p, dst, src)
			}
			return prepare(v, p, dst, src)
		}})
	}
	return append(all, Kernel{Name: "go", prepare: func(p Params, dst,
		src Shape) rows {
		return prepare(nil, p, dst, src)
	}})
}

// cover calls f for whole blocks of n elements; n is at least one block. The last block overlaps
// the one before if n is not a multiple.
func cover(n, block int, f func(from, to int)) {
	whole := n - n%block
	f(0, whole)
	if whole < n {
		f(n-block, n)
	}
}

package image

// Luma weights of ITU-R BT.601 in units of 1/256.
const (
	lumaRed   = 77
	lumaGreen = 150
	lumaBlue  = 29
)

// sobel is min(255, |gx| + |gy|) on the integer luma
// (77 R + 150 G + 29 B + 128) / 256, as a grey image.
func sobel() Operation {
	return Operation{
		Name: "sobel", Title: "Sobel edges", Doc: "3x3 Sobel, |gx| + |gy| on the luma, grey output",
		kernels: kernels(func(v *simd, _ Params, _, src Shape) rows {
			if v != nil && src.W < v.bytes {
				v = nil
			}
			return v.sobelRows
		}),
		output: func(_ Params, s Shape) Shape { return Shape{W: s.W, H: s.H, Channels: 1} }, reference: sobelReference,
		parameters: noParameters,
	}
}

// sobelRows keeps three rows of luma and computes each row once for a band.
func (v *simd) sobelRows(dst, src Image, low, high int) {
	above, here, below := make([]int16, src.W+2), make([]int16, src.W+2), make([]int16, src.W+2)
	v.lumaRow(above, src, low-1)
	v.lumaRow(here, src, low)
	for y := low; y < high; y++ {
		v.lumaRow(below, src, y+1)
		v.sobelRow(dst.Row(y), above, here, below, src.Row(min(y+2, src.H-1)))
		above, here, below = here, below, above
	}
}

// lumaRow fills line with the luma of row y and one replicated pixel on each side.
func (v *simd) lumaRow(line []int16, src Image, y int) {
	pix := src.Row(min(max(y, 0), src.H-1))
	if v != nil {
		cover(src.W, v.bytes/2, func(from, to int) { v.luma(&line[from+1], &pix[3*from], to-from) })
	} else {
		for i := range src.W {
			rgb := pix[:3]
			pix = pix[3:]
			line[i+1] = int16((lumaRed*int(rgb[0]) + lumaGreen*int(rgb[1]) + lumaBlue*int(rgb[2]) + 128) >> 8)
		}
	}
	replicate(line, 1, 1)
}

// sobelRow also fetches what lumaRow reads next, so that one works while the
// other waits for memory.
func (v *simd) sobelRow(out []byte, above, here, below []int16, ahead []byte) {
	n := len(out)
	above, here, below = above[:n+2], here[:n+2], below[:n+2]
	if v != nil {
		cover(n, v.bytes, func(from, to int) {
			v.sobel(&out[from], &above[from], &here[from], &below[from], &ahead[3*from], to-from)
		})
		return
	}
	for i := range n {
		gx := above[i+2] - above[i] + 2*(here[i+2]-here[i]) + below[i+2] - below[i]
		gy := below[i] + 2*below[i+1] + below[i+2] - above[i] - 2*above[i+1] - above[i+2]
		out[i] = byte(min(max(gx, -gx)+max(gy, -gy), 255))
	}
}

func sobelReference(_ Params, _ Shape, src Image, x, y, _ int) float64 {
	luma := func(x, y int) int {
		return (lumaRed*src.at(x, y, 0) + lumaGreen*src.at(x, y, 1) + lumaBlue*src.at(x, y, 2) + 128) / 256
	}
	gx, gy := 0, 0
	for i, w := range []int{1, 2, 1} {
		gx += w * (luma(x+1, y+i-1) - luma(x-1, y+i-1))
		gy += w * (luma(x+i-1, y+1) - luma(x+i-1, y-1))
	}
	return float64(min(max(gx, -gx)+max(gy, -gy), 255))
}

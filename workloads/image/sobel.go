package image

import (
	"sync"
	"unsafe"
)

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
			if v == nil || src.W < v.bytes {
				return sobelRows
			}
			lines := sync.Pool{New: func() any { return newEdges(v, src) }}
			return func(dst, src Image, low, high int) {
				e := lines.Get().(*edges)
				defer lines.Put(e)
				e.src = src
				e.rows(dst, low, high)
				e.src = Image{}
			}
		}),
		card:   sobelOnCard,
		output: func(_ Params, s Shape) Shape { return Shape{W: s.W, H: s.H, Channels: 1} }, reference: sobelReference,
		parameters: noParameters,
	}
}

// sobelRows is the portable kernel. It keeps three rows of luma, and computes the luma of each
// row once for a band.
func sobelRows(dst, src Image, low, high int) {
	above, middle, below := make([]int16, src.W+2), make([]int16, src.W+2), make([]int16, src.W+2)
	lumaRow(above, src, low-1)
	lumaRow(middle, src, low)
	for y := low; y < high; y++ {
		lumaRow(below, src, y+1)
		sobelRow(dst.Row(y), above, middle, below)
		above, middle, below = middle, below, above
	}
}

// lumaRow fills line with the luma of row y and one replicated pixel on each side.
func lumaRow(line []int16, src Image, y int) {
	pix := src.Row(clamp(y, src.H))
	for i := range src.W {
		rgb := pix[:3]
		pix = pix[3:]
		line[i+1] = int16(lumaOf(rgb))
	}
	pad(line, 1, src.W, 1)
}

// sobelRow computes one row from three lines of luma, which have one more pixel on each side.
func sobelRow(out []byte, above, middle, below []int16) {
	n := len(out)
	above, middle, below = above[:n+2], middle[:n+2], below[:n+2]
	for i := range n {
		gx := above[i+2] - above[i] + 2*(middle[i+2]-middle[i]) + below[i+2] - below[i]
		gy := below[i] + 2*below[i+1] + below[i+2] - above[i] - 2*above[i+1] - above[i+2]
		out[i] = byte(min(max(gx, -gx)+max(gy, -gy), 255))
	}
}

// edgeTile is the number of columns that are computed together, so that the lines of luma stay in
// the first-level cache.
const edgeTile = 4096

// edgeMargin is the bytes before and after a line of luma: one pixel on each side of the tile, and
// padding that keeps lines aligned.
const edgeMargin = 64

// edges is Sobel's operator with vectors. It computes two rows from four lines of luma together
// with the luma of the next two lines, so that memory is read all the time.
type edges struct {
	v           *simd
	src         Image
	left, right int // columns of the tile
	// lines is a ring of six lines of luma, apart bytes each; first is the row of the first one.
	lines []byte
	apart int
	first int
	spare []byte // takes the second row of a pair at the end of a band
}

func newEdges(v *simd, src Shape) *edges {
	width := (min(src.W, edgeTile+64) + v.bytes - 1) / v.bytes * v.bytes
	apart := edgeMargin + width + edgeMargin
	return &edges{v: v, lines: make([]byte, 6*apart), apart: apart, spare: make([]byte, width)}
}

func (e *edges) rows(dst Image, low, high int) {
	e.first = low - 1
	tiles := (e.src.W + edgeTile - 1) / edgeTile
	for tile := range tiles {
		// Tiles begin at whole vectors.
		e.left, e.right = tile*e.src.W/tiles/64*64, (tile+1)*e.src.W/tiles/64*64
		if tile == tiles-1 {
			e.right = e.src.W
		}
		for _, y := range []int{low - 1, low + 1} {
			cover(e.right-e.left, e.v.bytes, func(from, to int) { e.luma(y, from, to) })
			e.ends(y)
		}
		for y := low; y < high; y += 2 {
			below := e.spare
			if y+1 < high {
				below = dst.Row(y + 1)[e.left:e.right]
			}
			e.pair(dst.Row(y)[e.left:e.right], below, y, y+2 < high)
		}
	}
	if e.stream() {
		e.v.fence()
	}
}

// stream reports whether edges are stored past the caches.
func (e *edges) stream() bool { return e.src.Bytes() >= streamFrom }

// pair computes rows y and y+1 and, if there are more, the luma of the next two.
func (e *edges) pair(out, below []byte, y int, more bool) {
	n, step := e.right-e.left, e.v.bytes
	if !more {
		cover(n, step, func(from, to int) { e.edges(out, below, y, from, to) })
		return
	}
	whole := n - n%step
	e.both(out, below, y, whole)
	if whole < n {
		e.edges(out, below, y, n-step, n)
		e.luma(y+3, n-step, n)
	}
	e.ends(y + 3)
}

// edges computes columns of rows y and y+1.
func (e *edges) edges(out, below []byte, y, from, to int) {
	e.v.sobel(&out[from], &below[from], &e.line(y - 1)[from], &e.line(y + 1)[from], uintptr(e.apart), to-from)
}

// both computes the first n columns of rows y and y+1, and of the luma of the next two.
func (e *edges) both(out, below []byte, y, n int) {
	at := func(y int) int { return clamp(y, e.src.H)*e.src.Stride + 3*e.left }
	pix := at(y + 3)
	kernel := e.v.sobelLuma
	if e.stream() && aligned(out, e.v.bytes) && aligned(below, e.v.bytes) {
		kernel = e.v.sobelLumaStream
	}
	kernel(&e.line(y + 3)[0], &e.src.Pix[pix], uintptr(at(y+4)-pix), uintptr(at(y+5)-pix),
		&out[0], &below[0], &e.line(y - 1)[0], &e.line(y + 1)[0], uintptr(e.apart), n)
}

// line returns the line of luma of row y, from the first pixel of the tile on.
func (e *edges) line(y int) []byte { return e.lines[(y-e.first)%6*e.apart+edgeMargin:] }

// luma computes columns of the lines of rows y and y+1.
func (e *edges) luma(y, from, to int) {
	for _, y := range []int{y, y + 1} {
		e.v.luma(&e.line(y)[from], &e.src.Row(clamp(y, e.src.H))[3*(e.left+from)], to-from)
	}
}

// ends computes the pixel on each side of the tile in the lines of rows y and y+1.
func (e *edges) ends(y int) {
	for _, y := range []int{y, y + 1} {
		row, line := e.src.Row(clamp(y, e.src.H)), e.lines[(y-e.first)%6*e.apart+edgeMargin-1:]
		line[0] = lumaOf(row[3*max(e.left-1, 0):])
		line[1+e.right-e.left] = lumaOf(row[3*min(e.right, e.src.W-1):])
	}
}

func aligned(b []byte, to int) bool { return uintptr(unsafe.Pointer(&b[0]))%uintptr(to) == 0 }

// lumaOf is the luma of a pixel, rounded.
func lumaOf(rgb []byte) byte {
	return byte((lumaRed*int(rgb[0]) + lumaGreen*int(rgb[1]) + lumaBlue*int(rgb[2]) + 128) >> 8)
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

package image

import "sync"

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

// sobelRows keeps three rows of luma and computes each row once for a band.
func sobelRows(dst, src Image, low, high int) {
	above, here, below := make([]int16, src.W+2), make([]int16, src.W+2), make([]int16, src.W+2)
	lumaRow(above, src, low-1)
	lumaRow(here, src, low)
	for y := low; y < high; y++ {
		lumaRow(below, src, y+1)
		sobelRow(dst.Row(y), above, here, below)
		above, here, below = here, below, above
	}
}

// lumaRow fills line with the luma of row y and one replicated pixel on each side.
func lumaRow(line []int16, src Image, y int) {
	pix := src.Row(clamp(y, src.H))
	for i := range src.W {
		rgb := pix[:3]
		pix = pix[3:]
		line[i+1] = lumaOf(rgb)
	}
	pad(line, 1, src.W, 1)
}

func sobelRow(out []byte, above, here, below []int16) {
	n := len(out)
	above, here, below = above[:n+2], here[:n+2], below[:n+2]
	for i := range n {
		gx := above[i+2] - above[i] + 2*(here[i+2]-here[i]) + below[i+2] - below[i]
		gy := below[i] + 2*below[i+1] + below[i+2] - above[i] - 2*above[i+1] - above[i+2]
		out[i] = byte(min(max(gx, -gx)+max(gy, -gy), 255))
	}
}

// edgeTile is the number of columns that are computed at once: the lines of edges stay in
// the caches. Narrower tiles, whose lines would stay in the first one, are slower, because
// their rows come from memory in shorter pieces.
const edgeTile = 4096

// edgeLead is how many columns luma is ahead of the edges: far enough that what
// it stored has reached the cache.
const edgeLead = 256

// edges is Sobel's operator with vectors, taken apart: of each row of luma the
// differences and the sums along it are computed once, and used three times and
// twice. Lines are as wide as a tile, filled up to whole vectors.
type edges struct {
	v           *simd
	src         Image
	left, right int // columns of the tile
	line        [2][]int16
	across      [2][]int16
	smooth      [2][]int16
	spare       []byte
}

func newEdges(v *simd, src Shape) *edges {
	width := (min(src.W, edgeTile+64) + v.bytes - 1) / v.bytes * v.bytes
	// Lines that begin at the same place of two pages would make loads wait for
	// stores that have nothing to do with them.
	apart := width + 352
	lines := make([]int16, 6*apart)
	e := &edges{v: v, spare: make([]byte, width)}
	for i := range 2 {
		e.across[i], e.smooth[i], e.line[i] = lines[3*i*apart:][:width], lines[(3*i+1)*apart:][:width], lines[(3*i+2)*apart:][:width+2]
	}
	return e
}

func (e *edges) rows(dst Image, low, high int) {
	tiles := (e.src.W + edgeTile - 1) / edgeTile
	for tile := range tiles {
		// Tiles begin at whole vectors.
		e.left, e.right = tile*e.src.W/tiles/64*64, (tile+1)*e.src.W/tiles/64*64
		if tile == tiles-1 {
			e.right = e.src.W
		}
		// Two rows whose edges nobody needs fill the lines.
		e.head(low - 1)
		e.row(e.spare, low-1)
		e.row(e.spare, low)
		for y := low; y < high; y++ {
			e.row(dst.Row(y)[e.left:e.right], y+1)
		}
	}
}

// head begins the luma of row y.
func (e *edges) head(y int) { e.luma(y, 0, min(edgeLead, e.right-e.left)) }

// row goes on with the luma of row y, computes the edges of the row above it, and
// begins the luma of row y+1: where the edges have caught up with one line, luma is
// ahead of them on the next.
func (e *edges) row(out []byte, y int) {
	n, step := e.right-e.left, e.v.bytes
	if n < 2*edgeLead {
		e.luma(y, 0, n)
		e.edges(out, y, 0)
		return
	}
	both := (n - edgeLead) / step * step
	e.fused(out, y, 0, y, edgeLead, both)
	e.luma(y, n-step, n)
	e.fused(out, y, both, y+1, 0, edgeLead)
	e.ends(y + 1)
	e.edges(out, y, both+edgeLead)
}

// fused computes n columns of the edges above row y from column at on, and as many of
// the luma of row ahead from column from on.
func (e *edges) fused(out []byte, y, at, ahead, from, n int) {
	old, here, smooth := e.across[y&1], e.across[1-y&1], e.smooth[y&1]
	pix := e.src.Row(clamp(ahead, e.src.H))[3*(e.left+from):]
	// The same columns of the next row are fetched meanwhile.
	fetch := (clamp(ahead+1, e.src.H) - clamp(ahead, e.src.H)) * e.src.Stride
	e.v.sobelLuma(&e.line[ahead&1][from+1], &pix[0], uintptr(fetch), &out[at], &e.line[y&1][at], &old[at], &here[at], &smooth[at], n)
}

// edges computes the columns of the tile from that one on.
func (e *edges) edges(out []byte, y, from int) {
	line, old, here, smooth := e.line[y&1], e.across[y&1], e.across[1-y&1], e.smooth[y&1]
	n := e.right - e.left
	whole := n - (n-from)%e.v.bytes
	if whole > from {
		e.v.sobel(&out[from], &line[from], &old[from], &here[from], &smooth[from], whole-from)
	}
	if whole < n {
		var last [64]byte
		e.v.sobel(&last[0], &line[whole], &old[whole], &here[whole], &smooth[whole], e.v.bytes)
		copy(out[whole:n], last[:])
	}
}

// luma fills the columns of the line of row y, and what lies beside the tile.
func (e *edges) luma(y, from, to int) {
	pix := e.src.Row(clamp(y, e.src.H))[3*e.left:]
	line := e.line[y&1][1:]
	cover(to-from, e.v.bytes/2, func(low, high int) {
		e.v.luma(&line[from+low], &pix[3*(from+low)], high-low)
	})
	e.ends(y)
}

// ends fills the line of row y with the pixel on either side of the tile.
func (e *edges) ends(y int) {
	row, line := e.src.Row(clamp(y, e.src.H)), e.line[y&1]
	line[0] = lumaOf(row[3*max(e.left-1, 0):])
	line[e.right-e.left+1] = lumaOf(row[3*min(e.right, e.src.W-1):])
}

func lumaOf(rgb []byte) int16 {
	return int16((lumaRed*int(rgb[0]) + lumaGreen*int(rgb[1]) + lumaBlue*int(rgb[2]) + 128) >> 8)
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

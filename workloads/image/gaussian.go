package image

import (
	"math"
	"sync"
)

// maxSigma keeps the weights of fixed point precise: with the 121 taps of sigma
// 20 the result stays within one level of the float64 reference.
const maxSigma = 20

// wordBits are the bits behind the point of the words that both passes add. They stand
// for levels less 128, so that the sum of two of them fits 16 bits.
const wordBits = 7

// weightBits are those of the weights: what a multiplication of 16 bits shifts away.
const weightBits = 15

func gaussianBlur() Operation {
	return Operation{
		Name: "gaussian-blur", Title: "Gaussian blur", Doc: "separable Gaussian, radius 3 sigma",
		kernels: kernels(func(v *simd, p Params, _, src Shape) rows {
			weights := gaussianWeights(p.Sigma)
			lines := sync.Pool{New: func() any { return newBlur(v, weights, src) }}
			return func(dst, src Image, low, high int) {
				b := lines.Get().(*blur)
				defer lines.Put(b)
				b.src = src
				b.rows(dst, low, high)
				b.src = Image{}
			}
		}),
		card:   gaussianOnCard,
		output: sameShape, reference: gaussianReference, tolerance: 1,
		parameters: func(p Params) map[string]float64 { return map[string]float64{"sigma": p.Sigma} },
		work:       func(p Params) float64 { return 2 * 2 * float64(2*gaussianRadius(p.Sigma)+1) }, // two passes, a product and a sum for each tap
	}
}

func gaussianRadius(sigma float64) int { return int(math.Ceil(3 * sigma)) }

// gaussianWeights are the weights from the centre outwards, in units of 2^-weightBits.
// The centre counts twice, so it stands with half its weight: term k is the sum of the
// two samples k away, times weight k. Twice their sum is exactly 2^weightBits, so a flat
// image stays as it is.
func gaussianWeights(sigma float64) []int16 {
	exact := make([]float64, gaussianRadius(sigma)+1)
	sum := 0.0
	for i := range exact {
		exact[i] = math.Exp(-float64(i*i) / (2 * sigma * sigma))
		sum += 2 * exact[i]
	}
	sum -= exact[0]
	exact[0] /= 2
	for i, w := range exact {
		exact[i] = w / sum * (1 << weightBits)
	}
	weights := apportion(exact, 1<<(weightBits-1))
	for len(weights) > 1 && weights[len(weights)-1] == 0 {
		weights = weights[:len(weights)-1]
	}
	words := make([]int16, len(weights))
	for i, w := range weights {
		words[i] = int16(w) // at most half of what they sum to
	}
	return words
}

// apportion rounds every value up or down so that all of them sum to the
// total: those with the largest fractions go up (largest remainders).
func apportion(values []float64, total int32) []int32 {
	rounded := make([]int32, len(values))
	for i, v := range values {
		rounded[i] = int32(math.Floor(v))
		total -= rounded[i]
	}
	up := make([]bool, len(values))
	for ; total > 0; total-- {
		best, most := -1, -1.0
		for i, v := range values {
			if rest := v - math.Floor(v); !up[i] && rest > most {
				best, most = i, rest
			}
		}
		if best < 0 { // the values sum to less: not a matter of rounding
			rounded[0] += total
			break
		}
		up[best] = true
		rounded[best]++
	}
	return rounded
}

// term is the sum of two words times a weight, rounded: VPADDW and VPMULHRSW.
func term(a, b, weight int16) int16 {
	return int16((int32(a+b)*int32(weight) + 1<<(weightBits-1)) >> weightBits)
}

// toLevel rounds, and puts back the 128.
func toLevel(word int16) byte {
	return byte(min(max((word+1<<(wordBits-1))>>wordBits, -128), 127) + 128)
}

// blur is the work on one band, tile by tile: each row along its line into words, and
// then down the columns of those.
type blur struct {
	v        *simd
	src      Image
	weights  []int16
	both     []int32 // each weight in both halves, as the kernels read them
	channels int
	pad      int
	lines    [2][]byte // signed levels of two rows of the tile, with pad samples on either side

	// starts are the samples at which tiles begin, and the end of a row. ring holds the words
	// of the rows that the current one is made of, each where its number says, stride words apart.
	starts []int
	stride int
	ring   []int16
	// window points to the rows around the current one, those outside of the image to
	// its first and last. It holds every pointer twice, so that they lie in order from any on.
	window []*int16
	sums   []int16 // of the portable kernel
}

// blurTile is how many bytes the words of a tile may take: as many as a first-level cache
// has. A fourth more or less costs a tenth; no work is done twice for narrow tiles, but
// each has calls of its own.
const blurTile = 32 << 10

func newBlur(v *simd, weights []int16, src Shape) *blur {
	b := &blur{v: v, weights: weights, channels: src.Channels, pad: (len(weights) - 1) * src.Channels, starts: []int{0}}
	end, block := src.W*src.Channels, 1
	widest := end
	if v != nil {
		// Whole vectors of whole pixels, and the rest with the last of them.
		block = v.bytes
		unit := block * src.Channels
		width := max(1, blurTile/2/b.slots()/unit) * unit
		for at := width; at+width <= end; at += width {
			b.starts = append(b.starts, at)
		}
		widest = end - b.starts[len(b.starts)-1]
	}
	b.starts = append(b.starts, end)
	for _, w := range weights {
		b.both = append(b.both, int32(w)<<16|int32(w))
	}
	for i := range b.lines {
		b.lines[i] = make([]byte, b.pad+widest+b.pad)
	}
	b.stride = (widest + block - 1) / block * block
	b.ring = make([]int16, b.slots()*b.stride)
	b.window = make([]*int16, 2*b.slots())
	if v == nil {
		b.sums = make([]int16, widest)
	}
	return b
}

// slots is the number of rows that an output row is made of.
func (b *blur) slots() int { return 2*len(b.weights) - 1 }

func (b *blur) rows(dst Image, low, high int) {
	for i, right := range b.starts[1:] {
		b.tile(dst, low, high, b.starts[i], right)
	}
}

// tile computes the samples left to right of the rows. A line is fetched one row before
// it is used: a vector that begins within one that was just stored has to wait for it.
func (b *blur) tile(dst Image, low, high, left, right int) {
	reach := len(b.weights) - 1
	b.fetch(low-reach, left, right)
	for y := low - reach; y < high+reach; y++ {
		if y+1 < high+reach {
			b.fetch(y+1, left, right)
		}
		b.load(y, right-left)
		if middle := y - reach; middle >= low {
			b.down(dst.Row(middle)[left:right], middle)
		}
	}
}

// load puts a row into the window, or the one that stands for it outside of the image.
func (b *blur) load(y, n int) {
	slot := b.row(y)
	if y >= 0 && y < b.src.H {
		b.along(slot, y, n)
	}
	at := b.slot(y)
	b.window[at], b.window[at+b.slots()] = &slot[0], &slot[0]
}

// row are those of a row, or of the one that stands for it.
func (b *blur) row(y int) []int16 {
	return b.ring[b.slot(min(max(y, 0), b.src.H-1))*b.stride:][:b.stride]
}

// slot is a row's in the ring and in the window, for rows above the image, too.
func (b *blur) slot(y int) int { return (y + b.slots()) % b.slots() }

// rowsAhead is how many rows before its use a row of a tile is asked for: between rows
// of a narrow tile lie too many bytes for the processor to see what comes next.
const rowsAhead = 4

// fetch puts the samples left to right of a row into its line, and those that are beside
// them, or the first and last pixel where there are none.
func (b *blur) fetch(y, left, right int) {
	if y < 0 || y >= b.src.H {
		return
	}
	row, line := b.src.Row(y), b.lines[y&1][:right-left+2*b.pad]
	from, to := max(left-b.pad, 0), min(right+b.pad, len(row))
	within := row[from:to]
	before := from - (left - b.pad)
	behind := before + len(within)
	if b.v == nil {
		for i, level := range within {
			line[before+i] = level ^ 0x80
		}
	} else {
		ahead := uintptr(0)
		if y+rowsAhead < b.src.H {
			ahead = uintptr(rowsAhead * b.src.Stride)
		}
		cover(len(within), b.v.bytes, func(at, end int) { b.v.flip(&line[before+at], &within[at], ahead, end-at) })
	}
	for i := before - 1; i >= 0; i-- {
		line[i] = line[i+b.channels]
	}
	for i := behind; i < len(line); i++ {
		line[i] = line[i-b.channels]
	}
}

// along is the first pass, of the n samples of the line of row y.
func (b *blur) along(words []int16, y, n int) {
	line := b.lines[y&1]
	if b.v != nil {
		b.blocks(n, func(at, word, n int) {
			b.v.gaussianAlong(&words[word], &line[b.pad+at], &b.both[0], len(b.both), b.channels, n)
		})
		return
	}
	clear(b.sums)
	for k, w := range b.weights {
		left, right := line[b.pad-k*b.channels:][:n], line[b.pad+k*b.channels:][:n]
		for i := range b.sums {
			b.sums[i] += term(int16(int8(left[i]))<<wordBits, int16(int8(right[i]))<<wordBits, w)
		}
	}
	copy(words, b.sums)
}

// down is the second pass, for row y.
func (b *blur) down(out []byte, y int) {
	reach := len(b.weights) - 1
	if b.v != nil {
		middle := &b.window[b.slot(y-reach)+reach]
		b.blocks(len(out), func(at, word, n int) {
			b.v.gaussianDown(&out[at], middle, &b.both[0], len(b.both), word, n)
		})
		return
	}
	clear(b.sums)
	for k, w := range b.weights {
		above, below := b.row(y - k)[:len(out)], b.row(y + k)[:len(out)]
		for i := range b.sums {
			b.sums[i] += term(above[i], below[i], w)
		}
	}
	for i, sum := range b.sums {
		out[i] = toLevel(sum)
	}
}

// blocks calls f for whole vectors of n samples: from which sample on, where their words
// lie, and how many there are. Words lie by vectors, so the last vector, which overlaps
// the one before when n is no multiple, has its own.
func (b *blur) blocks(n int, f func(at, word, n int)) {
	whole := n - n%b.v.bytes
	f(0, 0, whole)
	if whole < n {
		f(n-b.v.bytes, whole, b.v.bytes)
	}
}

// gaussianReference is the two-dimensional sum in float64.
func gaussianReference(p Params, _ Shape, src Image, x, y, channel int) float64 {
	radius := gaussianRadius(p.Sigma)
	weights := make([]float64, 2*radius+1)
	whole := 0.0
	for i := range weights {
		away := float64(i-radius) / p.Sigma
		weights[i] = math.Exp(-away * away / 2)
		whole += weights[i]
	}
	sum := 0.0
	for i, down := range weights {
		for j, across := range weights {
			sum += down * across * float64(src.at(x+j-radius, y+i-radius, channel))
		}
	}
	return sum / (whole * whole)
}

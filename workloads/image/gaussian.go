package image

import (
	"math"
	"sync"
)

// maxSigma keeps the fixed-point weights precise: with the 121 taps of sigma 20 the result is
// within one level of the float64 reference.
const maxSigma = 20

// wordBits is the number of fraction bits in the 16-bit words of both passes. A word is a level
// less 128, so that the sum of two fits 16 bits.
const wordBits = 7

// weightBits is the number of fraction bits of the weights: VPMULHRSW shifts that many away.
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
		// two passes, a product and a sum for each tap
		work: func(p Params) float64 { return 2 * 2 * float64(2*gaussianRadius(p.Sigma)+1) },
	}
}

// gaussianRadius is the number of taps on either side of the centre: 3 sigma, rounded up.
func gaussianRadius(sigma float64) int { return int(math.Ceil(3 * sigma)) }

// gaussianWeights are the weights from the centre outwards, in units of 2^-weightBits. Term k is
// the sum of the two samples k away, times weight k. The centre counts twice this way, so its
// weight is halved. Twice the sum of the weights is exactly 2^weightBits, so a flat image is
// unchanged.
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

// apportion rounds every value up or down so that they sum to the total: those with the largest
// fractions are rounded up (largest remainder method).
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

// term is the sum of two words times a weight, rounded as VPADDW and VPMULHRSW do.
func term(a, b, weight int16) int16 {
	return int16((int32(a+b)*int32(weight) + 1<<(weightBits-1)) >> weightBits)
}

// toLevel rounds a word to a level, and adds the 128 again.
func toLevel(word int16) byte {
	return byte(min(max((word+1<<(wordBits-1))>>wordBits, -128), 127) + 128)
}

// blur computes one band, tile by tile: each row along its line into words, and then down the
// columns of words. A band uses one blur alone; the pool reuses it for others.
type blur struct {
	v        *simd
	src      Image
	weights  []int16
	both     []int32 // each weight in both halves, as the kernels read them
	channels int
	pad      int
	lines    [2][]byte // signed levels of two rows of the tile, with pad samples on each side

	// starts are the samples at which tiles begin, and the end of a row. ring is the words of the
	// rows around the current one, stride words apart; slot is the index of a row.
	starts []int
	stride int
	ring   []int16
	// window points to the rows around the current one; rows outside the image are its first or
	// last. It has every pointer twice, so that the rows are consecutive from any slot on.
	window []*int16
	sums   []int16 // of the portable kernel
}

// blurTile is the most bytes that the words of a tile take: the size of a first-level cache. A
// fourth more or less costs a tenth of the speed. Narrower tiles repeat no work, but each has calls
// of its own.
const blurTile = 32 << 10

// newBlur allocates the buffers for images of a shape; v is nil for the portable kernel, whose tile
// is the whole row.
func newBlur(v *simd, weights []int16, src Shape) *blur {
	b := &blur{v: v, weights: weights, channels: src.Channels, pad: (len(weights) - 1) * src.Channels, starts: []int{0}}
	end, block := src.W*src.Channels, 1
	widest := end
	if v != nil {
		// Tiles are whole vectors of whole pixels; the last one takes the rest of the row.
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

// slots is the number of input rows of two output rows.
func (b *blur) slots() int { return 2 * len(b.weights) }

func (b *blur) rows(dst Image, low, high int) {
	for i, right := range b.starts[1:] {
		b.tile(dst, low, high, b.starts[i], right)
	}
}

// tile computes the samples left to right of the rows low to high. It prepares each line one row
// ahead, because a vector load that overlaps a recent store has to wait for it.
func (b *blur) tile(dst Image, low, high, left, right int) {
	reach := len(b.weights) - 1
	b.fetch(low-reach, left, right)
	for y := low - reach; y < high+reach; y++ {
		if y+1 < high+reach {
			b.fetch(y+1, left, right)
		}
		b.load(y, right-left)
		middle := y - reach
		out := func(y int) []byte { return dst.Row(y)[left:right] }
		switch {
		case middle < low:
		case b.v == nil || b.v.gaussianPair == nil:
			b.down(out(middle), middle)
		case (middle-low)%2 == 1:
			b.downPair(out(middle-1), out(middle), middle-1)
		case middle == high-1:
			b.down(out(middle), middle)
		}
	}
}

// load puts row y into the window; outside the image that is the first or last row.
func (b *blur) load(y, n int) {
	slot := b.row(y)
	if y >= 0 && y < b.src.H {
		b.along(slot, y, n)
	}
	at := b.slot(y)
	b.window[at], b.window[at+b.slots()] = &slot[0], &slot[0]
}

// row is the words of row y; outside the image they are those of the first or last row.
func (b *blur) row(y int) []int16 {
	return b.ring[b.slot(min(max(y, 0), b.src.H-1))*b.stride:][:b.stride]
}

// slot is the index of row y in the ring and in the window; y may be above the image.
func (b *blur) slot(y int) int { return (y + b.slots()) % b.slots() }

// rowsAhead is how many rows ahead a tile prefetches. The rows of a narrow tile are too far apart
// for the processor's own prefetcher.
const rowsAhead = 4

// fetch writes the samples left to right of a row, as signed levels, to its line, with the
// neighbours on both sides. Beyond the image these are copies of the first or last pixel.
func (b *blur) fetch(y, left, right int) {
	if y < 0 || y >= b.src.H {
		return
	}
	row, line := b.src.Row(y), b.lines[y&1][:right-left+2*b.pad]
	from, to := max(left-b.pad, 0), min(right+b.pad, len(row))
	within := row[from:to]
	before := from - (left - b.pad)
	after := before + len(within)
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
	for i := after; i < len(line); i++ {
		line[i] = line[i-b.channels]
	}
}

// along is the first pass: it blurs the n samples of the line of row y into words.
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

// down is the second pass: it blurs the columns around row y into levels.
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

// downPair is down for the rows y and y+1.
func (b *blur) downPair(out, below []byte, y int) {
	reach := len(b.weights) - 1
	upper := &b.window[b.slot(y-reach)+reach]
	b.blocks(len(out), func(at, word, n int) {
		b.v.gaussianPair(&out[at], &below[at], upper, &b.both[0], len(b.both), word, n)
	})
}

// blocks calls f for whole vectors of n samples: at is the first sample, word the index of its
// word, n the number of samples. If n is not a multiple of the vector, the last vector overlaps the
// one before, and its words have a place of their own.
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

package image

import (
	"math"
	"sync"
)

// maxSigma keeps the weights of fixed point precise: with the 121 taps of sigma
// 20 the result stays within one level of the float64 reference.
const maxSigma = 20

// lineBits are the bits behind the point of the line between the two passes.
const lineBits = 7

func gaussianBlur() Operation {
	return Operation{
		Name: "gaussian-blur", Title: "Gaussian blur", Doc: "separable Gaussian, radius 3 sigma",
		kernels: kernels(func(v *simd, p Params, _, src Shape) rows {
			down, along := gaussianWeights(p.Sigma, 22), gaussianWeights(p.Sigma, 16)
			lines := sync.Pool{New: func() any { return newBlur(v, down, along, src) }}
			return func(dst, src Image, low, high int) {
				b := lines.Get().(*blur)
				defer lines.Put(b)
				b.src = src
				b.rows(dst, low, high)
				b.src = Image{}
				clear(b.rows4)
			}
		}),
		card:   gaussianOnCard,
		output: sameShape, reference: gaussianReference, tolerance: 1,
		parameters: func(p Params) map[string]float64 { return map[string]float64{"sigma": p.Sigma} },
		work:       func(p Params) float64 { return 2 * 2 * float64(2*gaussianRadius(p.Sigma)+1) }, // two passes, a product and a sum for each tap
	}
}

func gaussianRadius(sigma float64) int { return int(math.Ceil(3 * sigma)) }

// symmetric are the weights of a symmetric filter from the centre outwards, in
// units of 2^-bits. The centre counts twice, so it stands with half its weight:
// term k is the sum of the two samples k away, times weights[k]. All of them
// fit 16 bits, their number is even, and twice their sum is exactly 2^bits, so
// a flat image stays as it is.
type symmetric struct {
	bits    int
	weights []int32
}

// gaussianWeights takes as many bits as the largest weight and most allow.
func gaussianWeights(sigma float64, most int) symmetric {
	exact := make([]float64, gaussianRadius(sigma)+1)
	sum := 0.0
	for i := range exact {
		exact[i] = math.Exp(-float64(i*i) / (2 * sigma * sigma))
		sum += 2 * exact[i]
	}
	sum -= exact[0]
	exact[0] /= 2
	for bits := most; ; bits-- {
		scaled := make([]float64, len(exact))
		for i, w := range exact {
			scaled[i] = w / sum * float64(int(1)<<bits)
		}
		weights := apportion(scaled, 1<<(bits-1))
		if weights[0] > math.MaxInt16 || len(weights) > 1 && weights[1] > math.MaxInt16 {
			continue
		}
		for len(weights) > 1 && weights[len(weights)-1] == 0 {
			weights = weights[:len(weights)-1]
		}
		if len(weights)%2 == 1 {
			weights = append(weights, 0)
		}
		return symmetric{bits, weights}
	}
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

// packed holds two weights in each element, the first in the low half.
func (s symmetric) packed() []int32 { return packPairs(s.weights) }

func packPairs(weights []int32) []int32 {
	pairs := make([]int32, len(weights)/2)
	for i := range pairs {
		pairs[i] = int32(uint32(weights[2*i])&0xFFFF | uint32(weights[2*i+1])<<16)
	}
	return pairs
}

// blur is the work on one band: for each row down the columns into a line of
// fixed point around 128, then along that line, which stays in the cache.
type blur struct {
	v                 *simd
	src               Image
	down, along       symmetric
	downPairs, alongs []int32
	rows4             []*byte // of the current row, as gaussianDown reads them
	line              []int16
	sums              []int32 // of the portable kernel
	pad, n            int

	// tiles are into how many parts the columns are cut. ring holds the rows of a tile
	// that the current row is made of, each where its number says, stride bytes apart.
	tiles, stride int
	ring          []byte
}

// blurTile is how many vectors the rows of a tile may take: 64 KiB with AVX2, 128 KiB
// with AVX-512. Rows of the image itself push each other out of the first-level cache,
// because those of common widths begin at the same place of a page; smaller tiles share
// more with their neighbours than they save.
const blurTile = 2 << 10

func newBlur(v *simd, down, along symmetric, src Shape) *blur {
	n, pad := src.W*src.Channels, (len(along.weights)-1)*src.Channels
	b := &blur{v: v, down: down, along: along, downPairs: down.packed(), alongs: along.packed(), pad: pad, n: n}
	if v == nil {
		b.line, b.sums = make([]int16, pad+n+pad), make([]int32, n)
		return b
	}
	b.rows4 = make([]*byte, 2*len(down.weights))
	// A tile is not narrower than what it shares with its neighbours, or most of the
	// work would be done twice.
	width := max(blurTile*v.bytes/b.slots()-2*pad, 2*pad, 4*v.bytes)
	b.tiles = max(1, n/width)
	widest := ((src.W+b.tiles-1)/b.tiles)*src.Channels + 2*pad
	b.line = make([]int16, widest)
	b.stride = widest/64*64 + 2*64
	b.ring = make([]byte, b.slots()*b.stride)
	return b
}

// slots is the number of rows that an output row is made of, and one more.
func (b *blur) slots() int { return 2 * len(b.down.weights) }

func (b *blur) rows(dst Image, low, high int) {
	if b.v == nil {
		for y := low; y < high; y++ {
			b.downPortable(y)
			b.replicate(0, b.n)
			b.alongPortable(dst.Row(y))
		}
		return
	}
	for tile := range b.tiles {
		b.tile(dst, low, high, tile*b.src.W/b.tiles*b.src.Channels, (tile+1)*b.src.W/b.tiles*b.src.Channels)
	}
}

// tile computes the samples left to right of the rows.
func (b *blur) tile(dst Image, low, high, left, right int) {
	from, to := max(left-b.pad, 0), min(right+b.pad, b.n)
	reach := len(b.down.weights) - 1
	for y := max(low-reach, 0); y < min(low+reach, b.src.H); y++ {
		copy(b.slot(y), b.src.Row(y)[from:to])
	}
	start := b.line[b.pad-(left-from):]
	for y := low; y < high; y++ {
		if below := y + reach; below < b.src.H {
			copy(b.slot(below), b.src.Row(below)[from:to])
		}
		for k := range b.down.weights {
			b.rows4[2*k] = &b.slot(max(y-k, 0))[0]
			b.rows4[2*k+1] = &b.slot(min(y+k, b.src.H-1))[0]
		}
		bias, shift := b.downEnd()
		cover(to-from, b.v.bytes, func(at, end int) {
			b.v.gaussianDown(&start[0], &b.rows4[0], &b.downPairs[0], len(b.downPairs), at, end, bias, shift)
		})
		b.replicate(left, right)
		out := dst.Row(y)[left:right]
		bias, shift = b.alongEnd()
		cover(right-left, b.v.bytes, func(at, end int) {
			b.v.gaussianAlong(&out[at], &b.line[b.pad+at], &b.alongs[0], len(b.alongs), 2*b.src.Channels, end-at, bias, shift)
		})
	}
}

// slot is where the ring holds that row.
func (b *blur) slot(y int) []byte { return b.ring[y%b.slots()*b.stride:][:b.stride] }

// replicate fills the line, which holds the samples left to right and the padding on both
// sides of them, where the padding lies outside of the row.
func (b *blur) replicate(left, right int) {
	channels := b.src.Channels
	for i := range max(b.pad-left, 0) {
		b.line[i] = b.line[b.pad-left+i%channels]
	}
	end := b.pad + b.n - left
	for i := range max(right+b.pad-b.n, 0) {
		b.line[end+i] = b.line[end-channels+i%channels]
	}
}

// downEnd rounds to lineBits and takes 128 levels away, so that the sum of two
// samples fits 16 bits.
func (b *blur) downEnd() (bias int32, shift uint64) {
	shift = uint64(b.down.bits - lineBits)
	return 1<<shift>>1 - 128<<b.down.bits, shift
}

// alongEnd rounds to levels and puts the 128 back.
func (b *blur) alongEnd() (bias int32, shift uint64) {
	shift = uint64(b.along.bits + lineBits)
	return 1<<(shift-1) + 128<<shift, shift
}

func (b *blur) downPortable(y int) {
	bias, shift := b.downEnd()
	sums := b.sums
	clear(sums)
	for k, w := range b.down.weights {
		above := b.src.Row(max(y-k, 0))[:len(sums)]
		below := b.src.Row(min(y+k, b.src.H-1))[:len(sums)]
		for i := range sums {
			sums[i] += w * (int32(above[i]) + int32(below[i]))
		}
	}
	for i, s := range sums {
		b.line[b.pad+i] = int16((s + bias) >> shift)
	}
}

func (b *blur) alongPortable(out []byte) {
	bias, shift := b.alongEnd()
	sums := b.sums
	clear(sums)
	for k, w := range b.along.weights {
		step := k * b.src.Channels
		left, right := b.line[b.pad-step:][:len(sums)], b.line[b.pad+step:][:len(sums)]
		for i := range sums {
			sums[i] += w * (int32(left[i]) + int32(right[i]))
		}
	}
	for i, s := range sums {
		out[i] = byte(min(max((s+bias)>>shift, 0), 255))
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

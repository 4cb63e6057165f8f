package image

import (
	"math"
	"sync"
)

// filter describes one axis of a resize: output i is the weighted sum of taps inputs from first[i]
// on. Inputs beyond the ends are the outermost ones. The number of taps is even, because the
// kernels take two at a time.
type filter struct {
	taps    int
	first   []int
	weights []float64
}

func newFilter(n, taps int) filter {
	taps += taps % 2
	return filter{taps, make([]int, n), make([]float64, n*taps)}
}

// mostTaps keeps the fixed-point weights precise; stronger reductions are computed in float64.
const mostTaps = 128

// resampleBits is the number of fraction bits of the line between the two passes. Negative weights
// can make it less than 0 or more than 255, so 16 bits need the margin.
const resampleBits = 6

// fixed returns the weights as 16-bit numbers in units of 2^-bits; those of an output sum to
// 2^bits. bits is the largest number, up to most, with which a sum of inputs up to size fits 32
// bits.
func (f filter) fixed(most int, size float64) (weights []int32, bits int) {
	largest, reach := 0.0, 0.0
	for i := range f.first {
		sum := 0.0
		for _, w := range f.weights[i*f.taps:][:f.taps] {
			largest = max(largest, w)
			sum += math.Abs(w)
		}
		reach = max(reach, sum)
	}
	// A quarter is the margin for the rounding of sums and weights.
	for bits = most; largest*math.Ldexp(1, bits) > math.MaxInt16-1 || reach*size*math.Ldexp(1,
		bits) > 0.75*(1<<31); bits-- {
	}
	scaled := make([]float64, f.taps)
	for i := range f.first {
		for k, w := range f.weights[i*f.taps:][:f.taps] {
			scaled[k] = math.Ldexp(w, bits)
		}
		weights = append(weights, apportion(scaled, 1<<bits)...)
	}
	return weights, bits
}

// resampler resizes with one filter for each axis. For each output row it first sums down the
// columns into a line, which stays in the cache, and then along that line.
type resampler struct {
	v            *simd
	across, down filter
	exact        bool // in float64

	// The fixed-point weights of each pass, and their fraction bits.
	downWeights, alongWeights []int32
	downBits, alongBits       int

	before, after int     // pixels of padding
	offsets       []int32 // of resampleAlong: where each output's inputs begin, in bytes
	table         []int16 // of resampleAlong: the weights

	lines sync.Pool // of *resampleLines
}

// resampleLines are the buffers of one band.
type resampleLines struct {
	line   []int16
	inputs []*byte
	sums   []int32 // of the portable kernel
}

func (r *resampler) newLines(src Shape) *resampleLines {
	n := src.W * src.Channels
	// The last load of resampleAlong reads two words more.
	l := &resampleLines{line: make([]int16, (r.before+r.after)*src.Channels+n+2)}
	if r.v != nil {
		l.inputs = make([]*byte, r.down.taps)
	} else {
		l.sums = make([]int32, n)
	}
	return l
}

// newResampler computes the tables for images of shape src; v is nil for the portable kernels.
func newResampler(v *simd, across, down filter, src Shape) *resampler {
	r := &resampler{v: v, across: across, down: down, exact: max(across.taps, down.taps) > mostTaps}
	for _, first := range across.first {
		r.before = max(r.before, -first)
		r.after = max(r.after, first+across.taps-src.W)
	}
	if r.exact {
		return r
	}
	r.lines.New = func() any { return r.newLines(src) }
	r.downWeights, r.downBits = down.fixed(22, 255)
	r.alongWeights, r.alongBits = across.fixed(15, math.MaxInt16)
	if v != nil {
		r.makeTable(src.Channels)
	}
	return r
}

// makeTable lays out offsets and weights as resampleAlong reads them: groups of four pixels, each
// with eight words for every pair of taps, of which six are used.
func (r *resampler) makeTable(channels int) {
	n, pairs := len(r.across.first), r.across.taps/2
	padded := (n + 3) / 4 * 4
	r.offsets = make([]int32, padded)
	r.table = make([]int16, padded*pairs*8)
	for i := range padded {
		from := min(i, n-1)
		r.offsets[i] = int32(2 * channels * (r.across.first[from] + r.before))
		for pair := range pairs {
			lane := r.table[(i/4*pairs+pair)*32+i%4*8:][:8]
			for k := range 6 {
				lane[k] = int16(r.alongWeights[from*r.across.taps+2*pair+k%2])
			}
		}
	}
}

// rows computes rows of dst. Several goroutines may call it at the same time.
func (r *resampler) rows(dst, src Image, low, high int) {
	if r.exact {
		r.rowsExact(dst, src, low, high)
		return
	}
	n := src.W * src.Channels
	from := r.before * src.Channels
	lines := r.lines.Get().(*resampleLines)
	defer r.lines.Put(lines)
	line, inputs := lines.line, lines.inputs
	defer clear(inputs)
	for y := low; y < high; y++ {
		weights := r.downWeights[y*r.down.taps:][:r.down.taps]
		if r.v != nil {
			for k := range inputs {
				inputs[k] = &src.Row(clamp(r.down.first[y]+k, src.H))[0]
			}
			pairs := packPairs(weights)
			bias, shift := rounding(r.downBits - resampleBits)
			cover(n, r.v.bytes, func(low, high int) {
				r.v.resampleDown(&line[from], &inputs[0], &pairs[0], len(pairs), low, high, bias, shift)
			})
		} else {
			r.downPortable(line[from:], lines.sums, src, y)
		}
		pad(line[:len(line)-2], from, n, src.Channels)
		if r.v != nil {
			r.along(dst.Row(y), line)
		} else {
			r.alongPortable(dst.Row(y), line, src.Channels)
		}
	}
}

// rounding returns the bias, half a unit, and the count of a rounding shift to the right.
func rounding(shift int) (bias int32, count uint64) { return 1 << shift >> 1, uint64(shift) }

func clamp(i, n int) int { return min(max(i, 0), n-1) }

// pad fills the line before and after the n elements at from with their first and last pixel.
func pad[T any](line []T, from, n, channels int) {
	for i := range from {
		line[i] = line[from+i%channels]
	}
	for i, end := 0, from+n; end+i < len(line); i++ {
		line[end+i] = line[end-channels+i%channels]
	}
}

// along is the second pass with vectors: four pixels at a time, the last ones in a buffer.
func (r *resampler) along(out []byte, line []int16) {
	bias, shift := rounding(r.alongBits + resampleBits)
	n, pairs := len(r.across.first), r.across.taps/2
	whole := n / 4 * 4
	if whole > 0 {
		r.v.resampleAlong(&out[0], &line[0], &r.offsets[0], &r.table[0], pairs, whole, bias, shift)
	}
	if whole < n {
		var rest [12]byte
		r.v.resampleAlong(&rest[0], &line[0], &r.offsets[whole], &r.table[whole*pairs*8], pairs, 4, bias, shift)
		copy(out[3*whole:], rest[:])
	}
}

// downPortable is the first pass in plain Go: the weighted sum of rows for output row y.
func (r *resampler) downPortable(line []int16, sums []int32, src Image, y int) {
	bias, shift := rounding(r.downBits - resampleBits)
	clear(sums)
	for k, w := range r.downWeights[y*r.down.taps:][:r.down.taps] {
		for i, v := range src.Row(clamp(r.down.first[y]+k, src.H)) {
			sums[i] += w * int32(v)
		}
	}
	for i, s := range sums {
		line[i] = int16((s + bias) >> shift)
	}
}

// alongPortable is the second pass in plain Go.
func (r *resampler) alongPortable(out []byte, line []int16, channels int) {
	bias, shift := rounding(r.alongBits + resampleBits)
	for i, first := range r.across.first {
		weights := r.alongWeights[i*r.across.taps:][:r.across.taps]
		for c := range channels {
			sum := bias
			at := (first+r.before)*channels + c
			for _, w := range weights {
				sum += w * int32(line[at])
				at += channels
			}
			out[i*channels+c] = byte(min(max(sum>>shift, 0), 255))
		}
	}
}

// rowsExact is rows in float64, for any number of taps.
func (r *resampler) rowsExact(dst, src Image, low, high int) {
	n, from := src.W*src.Channels, r.before*src.Channels
	line := make([]float64, from+n+r.after*src.Channels)
	for y := low; y < high; y++ {
		sums := line[from:][:n]
		clear(sums)
		for k, w := range r.down.weights[y*r.down.taps:][:r.down.taps] {
			for i, v := range src.Row(clamp(r.down.first[y]+k, src.H)) {
				sums[i] += w * float64(v)
			}
		}
		pad(line, from, n, src.Channels)
		out := dst.Row(y)
		for i, first := range r.across.first {
			weights := r.across.weights[i*r.across.taps:][:r.across.taps]
			for c := range src.Channels {
				sum := 0.0
				for k, w := range weights {
					sum += w * line[from+(first+k)*src.Channels+c]
				}
				out[i*src.Channels+c] = level(sum)
			}
		}
	}
}

// packPairs packs two weights into each element, the first into the low half.
func packPairs(weights []int32) []int32 {
	pairs := make([]int32, len(weights)/2)
	for i := range pairs {
		pairs[i] = int32(uint32(weights[2*i])&0xFFFF | uint32(weights[2*i+1])<<16)
	}
	return pairs
}

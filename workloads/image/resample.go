package image

import (
	"math"
	"sync"
)

// filter says what each output of one axis is made of: taps inputs from first
// on, weighed, where inputs beyond the ends are the outermost ones. The number
// of taps is even.
type filter struct {
	taps    int
	first   []int
	weights []float64
}

func newFilter(n, taps int) filter {
	taps += taps % 2
	return filter{taps, make([]int, n), make([]float64, n*taps)}
}

// mostTaps keeps the weights of fixed point precise; stronger reductions are
// computed in float64.
const mostTaps = 128

// resampleBits are the bits behind the point of the line between the two
// passes. Negative weights let it swing beyond 0 and 255.
const resampleBits = 6

// fixed returns the weights in units of 2^-bits, each 16 bits wide, those of an
// output with the sum 2^bits: as many bits as hold a sum of inputs of that size.
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
	// A quarter is left for the rounding and for the weights' own.
	for bits = most; largest*math.Ldexp(1, bits) > math.MaxInt16-1 || reach*size*math.Ldexp(1, bits) > 0.75*(1<<31); bits-- {
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

// resampler resizes with one filter for each axis: for each output row down the
// columns into a line, which stays in the cache, then along that line.
type resampler struct {
	v            *simd
	across, down filter
	exact        bool // in float64

	downWeights, alongWeights []int32
	downBits, alongBits       int

	before, after int // pixels of padding
	offsets       []int32
	table         []int16

	lines sync.Pool // of *resampleLines
}

// resampleLines is what one band needs.
type resampleLines struct {
	line   []int16
	inputs []*byte
	sums   []int32 // of the portable kernel
}

func (r *resampler) newLines(src Shape) *resampleLines {
	n := src.W * src.Channels
	// Two words more, which the last load of resampleAlong reads.
	l := &resampleLines{line: make([]int16, (r.before+r.after)*src.Channels+n+2)}
	if r.v != nil {
		l.inputs = make([]*byte, r.down.taps)
	} else {
		l.sums = make([]int32, n)
	}
	return l
}

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

// makeTable lays out offsets and weights as resampleAlong reads them: pixels in
// fours, each with a lane of eight words for a pair of taps.
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

// rows may run on several bands at once.
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

func rounding(shift int) (bias int32, count uint64) { return 1 << shift >> 1, uint64(shift) }

func clamp(i, n int) int { return min(max(i, 0), n-1) }

// pad replicates the first and the last pixel of the n elements at from.
func pad[T any](line []T, from, n, channels int) {
	for i := range from {
		line[i] = line[from+i%channels]
	}
	for i, end := 0, from+n; end+i < len(line); i++ {
		line[end+i] = line[end-channels+i%channels]
	}
}

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

// rowsExact is the same in float64, for any number of taps.
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

// packPairs puts two weights in each element, the first in the low half.
func packPairs(weights []int32) []int32 {
	pairs := make([]int32, len(weights)/2)
	for i := range pairs {
		pairs[i] = int32(uint32(weights[2*i])&0xFFFF | uint32(weights[2*i+1])<<16)
	}
	return pairs
}

package image

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// sampledPixels is the number of pixels of every output that are compared with the reference.
const sampledPixels = 512

// sample is the reference value of one sample of the output.
type sample struct {
	x, y, channel int
	want          float64
}

// samples computes the reference at the corners, along the borders and at random positions; of a
// small image, at all pixels.
func (op Operation) samples(p Params, dst Shape, src Image, rng *rand.Rand) []sample {
	var all []sample
	for _, at := range samplePoints(dst, rng) {
		for c := range dst.Channels {
			all = append(all, sample{at[0], at[1], c, op.reference(p, dst, src, at[0], at[1], c)})
		}
	}
	return all
}

// samplePoints returns the positions (x, y) at which an output is checked.
func samplePoints(s Shape, rng *rand.Rand) [][2]int {
	var all [][2]int
	if int64(s.W)*int64(s.H) <= sampledPixels {
		for i := range s.W * s.H {
			all = append(all, [2]int{i % s.W, i / s.W})
		}
		return all
	}
	right, bottom := s.W-1, s.H-1
	all = append(all, [2]int{0, 0}, [2]int{right, 0}, [2]int{0, bottom}, [2]int{right, bottom})
	for len(all) < sampledPixels {
		x, y := rng.IntN(s.W), rng.IntN(s.H)
		edge := [][2]int{{x, 0}, {x, bottom}, {0, y}, {right, y}}[len(all)%4]
		all = append(all, [2]int{x, y}, edge)
	}
	return all
}

// check is an error if a sample of the output differs from the reference by more than tolerance.
func (op Operation) check(tolerance float64, dst Image, all []sample) error {
	for _, s := range all {
		got := dst.value(s.x, s.y, s.channel)
		if !(math.Abs(got-s.want) <= tolerance) { // NaN is wrong too
			return fmt.Errorf("verify %s: pixel (%d, %d), channel %d is %v, but the reference is %.2f, tolerance %v",
				op.Name, s.x, s.y, s.channel, got, s.want, tolerance)
		}
	}
	return nil
}

package image

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/batchctl/batchctl/workloads/measure"
)

// generate draws one test image: gradients, ellipses and rectangles, with noise. The pixels depend
// only on the seed and the number.
func generate(ctx context.Context, m Image, seed, number uint64, threads int) error {
	shapes := randomShapes(m.Shape, rand.New(rand.NewPCG(seed, number<<32)))
	return measure.Parallel(ctx, threads, m.H, 64, func(low, high int) {
		for y := low; y < high; y++ {
			gradient(m, y)
			for _, shape := range shapes {
				shape.draw(m, y)
			}
			noise(m.Row(y), rand.NewPCG(seed, number<<32|uint64(y+1)))
		}
	})
}

// gradient fills row y: red grows to the right, green downwards, blue is their mean.
func gradient(m Image, y int) {
	row := m.Row(y)
	for x := range m.W {
		for c := range m.Channels {
			across, down := 255*x/m.W, 255*y/m.H
			row[x*m.Channels+c] = byte([]int{across, down, (across + down) / 2}[c%3])
		}
	}
}

// shape is a rectangle or the ellipse inside it, in one colour.
type shape struct {
	x, y, w, h int
	round      bool
	colour     [3]byte
}

// randomShapes returns six ellipses and six rectangles, up to a third of the image each.
func randomShapes(s Shape, rng *rand.Rand) []shape {
	all := make([]shape, 12)
	for i := range all {
		bits := rng.Uint32()
		all[i] = shape{
			x: rng.IntN(s.W), y: rng.IntN(s.H), w: 1 + rng.IntN(s.W)/3, h: 1 + rng.IntN(s.H)/3,
			round: i%2 == 0, colour: [3]byte{byte(bits), byte(bits >> 8), byte(bits >> 16)},
		}
	}
	return all
}

// draw draws the part of the shape that is in row y.
func (s shape) draw(m Image, y int) {
	if y < s.y || y >= s.y+s.h {
		return
	}
	low, high := s.x, s.x+s.w
	if s.round {
		away := (float64(y-s.y)+0.5)/float64(s.h)*2 - 1
		half := float64(s.w) / 2 * math.Sqrt(1-away*away)
		low, high = s.x+s.w/2-int(half), s.x+s.w/2+int(half)
	}
	row := m.Row(y)
	for i := max(low, 0) * m.Channels; i < min(high, m.W)*m.Channels; i++ {
		row[i] = s.colour[i%m.Channels%3]
	}
}

// noise adds -8 to 7 to every sample.
func noise(row []byte, source *rand.PCG) {
	var bits uint64
	for i, v := range row {
		if i%16 == 0 {
			bits = source.Uint64()
		}
		row[i] = byte(min(max(int(v)+int(bits&15)-8, 0), 255))
		bits >>= 4
	}
}

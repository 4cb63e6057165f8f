package image

import (
	"context"
	"math"

	"github.com/batchctl/batchctl/workloads/measure"
)

// Params are the numbers that operations take.
type Params struct {
	// Sigma is the standard deviation of the Gaussian in pixels.
	Sigma float64
	// Scale resizes, unless Width or Height is set; a zero one follows the other.
	Scale         float64
	Width, Height int
	// Factor and Offset change the brightness: sample*Factor + Offset.
	Factor, Offset float64
	// Mean and Deviation normalise: (sample/255 - Mean) / Deviation.
	Mean, Deviation float64
}

// rows computes the rows low to high of dst. It may not touch other rows, so
// that the result does not depend on how the rows are split.
type rows func(dst, src Image, low, high int)

// Kernel is one way to compute an operation on the CPU.
type Kernel struct {
	Name string
	// prepare makes tables for one pair of shapes.
	prepare func(p Params, dst, src Shape) rows
}

// Operation is one thing to do with an image. A faster kernel is a new element
// of kernels; the reference and its tolerance hold for all of them.
type Operation struct {
	Name, Title, Doc string
	kernels          []Kernel
	// output is the shape of the result.
	output func(Params, Shape) Shape
	// reference is the value of one sample, computed without the kernels' tricks.
	reference func(p Params, dst Shape, src Image, x, y, channel int) float64
	// tolerance is the largest distance to the reference in levels; 0 is exact.
	tolerance float64
	// slack is added to the tolerance of an operation whose numbers decide it.
	slack func(Params) float64
	// parameters are those that the results name.
	parameters func(Params) map[string]float64
}

// Operations lists every operation.
func Operations() []Operation {
	return []Operation{gaussianBlur(), sobel(), resizeHalf(), resizeBilinear(), resizeLanczos(), brightness(), normalise()}
}

// element is the type of the output's samples.
func (op Operation) element(p Params) string {
	if op.output(p, Shape{W: 1, H: 1, Channels: 3}).Float {
		return "float32"
	}
	return "uint8"
}

func sameShape(_ Params, s Shape) Shape { return s }

func noParameters(Params) map[string]float64 { return nil }

// apply computes every dst from its src; all have the same two shapes.
func apply(ctx context.Context, threads int, f rows, dst, src []Image) error {
	height := dst[0].H
	all := height * len(dst)
	// Several bands for each goroutine even out their speeds; a short band
	// would repeat work at its edges.
	band := min(max(all/(4*threads), 8), 64)
	return measure.Parallel(ctx, threads, all, band, func(low, high int) {
		for low < high {
			i := low / height
			end := min(high, (i+1)*height)
			f(dst[i], src[i], low-i*height, end-i*height)
			low = end
		}
	})
}

// level rounds half up and clamps to 0..255.
func level(v float64) byte {
	return byte(min(max(math.Floor(v+0.5), 0), 255))
}

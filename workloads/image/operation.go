package image

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/batchctl/batchctl/workloads/measure"
)

// Params are the parameters of the operations.
type Params struct {
	// Sigma is the standard deviation of the Gaussian in pixels.
	Sigma float64
	// Scale is output size over input size, unless Width or Height is set in pixels. If one of
	// them is 0, it keeps the proportions.
	Scale         float64
	Width, Height int
	// Factor and Offset change the brightness: sample*Factor + Offset.
	Factor, Offset float64
	// Mean and Deviation normalise: (sample/255 - Mean) / Deviation.
	Mean, Deviation float64
}

// rows computes the rows low to high of dst. It must not touch other rows: several goroutines
// call it for different rows, and the result must not depend on how the rows are divided.
type rows func(dst, src Image, low, high int)

// Kernel is one implementation of an operation on the CPU. It computes rows (prepare), or whole
// images with threads of its own (whole).
type Kernel struct {
	Name string
	// title is its name in results, if it differs from Name.
	title string
	// prepare computes the tables for one pair of shapes.
	prepare func(p Params, dst, src Shape) rows
	whole   func(p Params, threads int, dst, src Image) error
	// slack is added to the operation's tolerance if the kernel's definition differs, in levels.
	slack func(Params) float64
}

// label is the kernel's name in results.
func (k Kernel) label() string { return cmp.Or(k.title, k.Name) }

// Operation is one image operation. A faster kernel is a new element of kernels; the reference
// and the tolerance apply to all of them.
type Operation struct {
	Name, Title, Doc string
	kernels          []Kernel
	// card computes the operation on a GPU.
	card onCard
	// output is the shape of the result.
	output func(Params, Shape) Shape
	// reference is the value of one sample by the operation's definition, in float64.
	reference func(p Params, dst Shape, src Image, x, y, channel int) float64
	// tolerance is the largest allowed difference from the reference in levels; 0 is exact.
	tolerance float64
	// slack is the part of the tolerance that depends on the parameters.
	slack func(Params) float64
	// work is the floating-point operations of one output sample by definition; nil for an
	// operation that only memory limits on a GPU.
	work func(Params) float64
	// parameters are the parameters that results report.
	parameters func(Params) map[string]float64
}

// Operations lists every operation.
func Operations() []Operation {
	return []Operation{gaussianBlur(), sobel(), resizeHalf(), resizeBilinear(), resizeLanczos(), brightness(),
		normalise()}
}

// all returns the operation's CPU kernels: those of this package, the best first, and then those
// of other libraries.
func (op Operation) all() []Kernel { return append(slices.Clone(op.kernels), independent(op.Name)...) }

// find returns the kernel of that name.
func (op Operation) find(name string) (Kernel, bool) {
	all := op.all()
	i := slices.IndexFunc(all, func(k Kernel) bool { return k.Name == name })
	if i < 0 {
		return Kernel{}, false
	}
	return all[i], true
}

// element is the type of the output's samples.
func (op Operation) element(p Params) string {
	if op.output(p, Shape{W: 1, H: 1, Channels: 3}).Float {
		return "float32"
	}
	return "uint8"
}

// allowed is the largest allowed difference of the kernel's output from the reference, in levels.
func (op Operation) allowed(k Kernel, p Params) float64 {
	tolerance := op.tolerance
	for _, slack := range []func(Params) float64{op.slack, k.slack} {
		if slack != nil {
			tolerance += slack(p)
		}
	}
	return tolerance
}

func sameShape(_ Params, s Shape) Shape { return s }

func noParameters(Params) map[string]float64 { return nil }

// apply computes every dst from its src; all have the same two shapes.
func apply(ctx context.Context, threads int, f rows, dst, src []Image) error {
	height := dst[0].H
	all := height * len(dst)
	bounds := bands(all, threads)
	return measure.Parallel(ctx, threads, len(bounds)-1, 1, func(i, _ int) {
		for low, end := bounds[i], bounds[i+1]; low < end; {
			i := low / height
			high := min(end, (i+1)*height)
			f(dst[i], src[i], low-i*height, high-i*height)
			low = high
		}
	})
}

// bands divides n rows into bands, each computed by one goroutine, and returns their bounds. The
// first bands are long, because each repeats work at its edges and starts with cold caches. The
// last ones are short, so that the goroutines finish at about the same time.
func bands(n, threads int) []int {
	bounds := []int{0}
	for low := 0; low < n; {
		low += min(max((n-low)/(2*threads), 8), 512, n-low)
		bounds = append(bounds, low)
	}
	return bounds
}

// level rounds half up and clamps to 0..255.
func level(v float64) byte {
	return byte(min(max(math.Floor(v+0.5), 0), 255))
}

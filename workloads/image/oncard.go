package image

import (
	"math"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/pixels"
	"github.com/batchctl/batchctl/workloads/measure"
)

// cardKernel is the name of the kernels on a GPU, those of package pixels.
const cardKernel = "cuda"

// launch queues the operation's kernel for images in a card's memory. It does not wait.
type launch func(k *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error

// onCard prepares the tables of an operation for one pair of shapes. The error says why a GPU
// cannot compute it.
type onCard func(p Params, dst, src Shape) (launch, error)

func gaussianOnCard(p Params, _, _ Shape) (launch, error) {
	weights := gaussianFloats(p.Sigma)
	return func(k *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error {
		return k.Gaussian(q, dst, src, weights)
	}, nil
}

// gaussianFloats are the weights from the centre outwards. The centre plus twice the others is 1.
func gaussianFloats(sigma float64) []float32 {
	exact := make([]float64, gaussianRadius(sigma)+1)
	sum := 0.0
	for i := range exact {
		exact[i] = math.Exp(-float64(i*i) / (2 * sigma * sigma))
		sum += 2 * exact[i]
	}
	sum -= exact[0]
	weights := make([]float32, len(exact))
	for i, w := range exact {
		weights[i] = float32(w / sum)
	}
	return weights
}

func sobelOnCard(Params, Shape, Shape) (launch, error) { return (*pixels.Kernels).Sobel, nil }

func halfOnCard(Params, Shape, Shape) (launch, error) { return (*pixels.Kernels).Half, nil }

// resampleOnCard resizes with the weights of the CPU kernels. taps makes the filter of an axis.
// Reductions by too many taps are a usage error.
func resampleOnCard(taps func(n, size int) filter) onCard {
	return func(_ Params, dst, src Shape) (launch, error) {
		across, down := taps(dst.W, src.W), taps(dst.H, src.H)
		if most := max(across.taps, down.taps); most > mostTaps {
			return nil, measure.Usagef("resize %v to %v: each output combines %d inputs along an axis, and a GPU combines at most %d; reduce to no less than 1/%d, or run with --device cpu",
				src, dst, most, mostTaps, (mostTaps-2)/(2*lanczosRadius))
		}
		alongColumns, alongRows := down.onCard(22, 255), across.onCard(15, math.MaxInt16)
		return func(k *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error {
			return k.Resample(q, dst, src, alongRows, alongColumns)
		}, nil
	}
}

// onCard is the filter in fixed point as the kernel reads it; see fixed.
func (f filter) onCard(most int, size float64) pixels.Filter {
	weights, bits := f.fixed(most, size)
	out := pixels.Filter{Taps: f.taps, Bits: bits, First: make([]int32, len(f.first)),
		Weights: make([]int16, len(weights))}
	for i, first := range f.first {
		out.First[i] = int32(first)
	}
	for i, w := range weights {
		out.Weights[i] = int16(w)
	}
	return out
}

func brightnessOnCard(p Params, _, _ Shape) (launch, error) {
	table := brightnessTable(p)
	return func(k *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error {
		return k.Table(q, dst, src, table)
	}, nil
}

func normaliseOnCard(p Params, _, _ Shape) (launch, error) {
	factor, offset := normaliseLine(p)
	return func(k *pixels.Kernels, q *gpu.Queue, dst, src pixels.Batch) error {
		return k.Linear(q, dst.Pointer, src, factor, offset)
	}, nil
}

// batchAt describes images of one shape at an address in a card's memory.
func batchAt(p gpu.Pointer, s Shape, images int) pixels.Batch {
	return pixels.Batch{Pointer: p, Width: s.W, Height: s.H, Channels: s.Channels, Images: images}
}

//go:build opencv

package image

import (
	"fmt"
	"math"

	"github.com/batchctl/batchctl/workloads/image/opencv"
)

// independent returns the kernels of other libraries for an operation: OpenCV's, if it has the
// same operation.
func independent(operation string) []Kernel {
	work, slack := openCV(operation)
	if work == nil {
		return nil
	}
	return []Kernel{{
		Name: "opencv", title: "opencv-" + opencv.Version(), slack: slack,
		whole: func(p Params, threads int, dst, src Image) error {
			if err := work(p, threads, forOpenCV(dst), forOpenCV(src)); err != nil {
				return fmt.Errorf("%s with OpenCV: %w", operation, err)
			}
			return nil
		},
	}}
}

// openCV returns OpenCV's function for an operation, and the slack for its different
// definition; nil if it has none. Its Lanczos is a different filter: it has 8 taps and does not
// average before a reduction.
func openCV(operation string) (work func(p Params, threads int, dst, src opencv.Image) error,
	slack func(Params) float64) {
	switch operation {
	case "gaussian-blur":
		// Its weights are whole numbers of 1/256; on noise and on stripes the result was
		// up to 2 levels away.
		return func(p Params, threads int, dst, src opencv.Image) error {
			return opencv.Gaussian(dst, src, threads, gaussianRadius(p.Sigma), p.Sigma)
		}, levels(2)
	case "sobel":
		// Its luma is one level away at most, and the weights of the two sums are 16 in all.
		return func(_ Params, threads int, dst, src opencv.Image) error { return opencv.Sobel(dst, src, threads) },
			levels(16)
	case "resize-half":
		return func(_ Params, threads int, dst, src opencv.Image) error { return opencv.Half(dst, src, threads) }, nil
	case "resize-bilinear":
		// Its weights have 11 bits and its positions are float32s.
		return func(_ Params, threads int, dst, src opencv.Image) error { return opencv.Bilinear(dst, src, threads) },
			levels(1)
	case "brightness":
		// It computes in float32, and halves go to the even level.
		return func(p Params, threads int, dst, src opencv.Image) error {
			return opencv.Linear(dst, src, threads, p.Factor, p.Offset)
		}, levels(1)
	case "normalise":
		// It may round the product before the sum.
		return func(p Params, threads int, dst, src opencv.Image) error {
				return opencv.Linear(dst, src, threads, 1/(255*p.Deviation), -p.Mean/p.Deviation)
			}, func(p Params) float64 {
				return 2e-7 * (1 + math.Abs(p.Mean)) / p.Deviation
			}
	}
	return nil, nil
}

func levels(n float64) func(Params) float64 { return func(Params) float64 { return n } }

func forOpenCV(m Image) opencv.Image {
	return opencv.Image{Pix: m.Pix, Width: m.W, Height: m.H, Channels: m.Channels, Stride: m.Stride, Float: m.Float}
}

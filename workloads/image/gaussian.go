package image

import "math"

// maxSigma keeps 16-bit weights precise: with the 121 taps of sigma 20 the
// result stays within one level of the float64 reference.
const maxSigma = 20

func gaussianBlur() Operation {
	return Operation{
		Name: "gaussian-blur", Title: "Gaussian blur", Doc: "separable Gaussian, radius 3 sigma",
		kernels: portable(func(p Params, _, _ Shape) rows { return blur(gaussianWeights(p.Sigma)) }),
		output:  sameShape, reference: gaussianReference, tolerance: 1,
		parameters: func(p Params) map[string]float64 { return map[string]float64{"sigma": p.Sigma} },
	}
}

func gaussianRadius(sigma float64) int { return int(math.Ceil(3 * sigma)) }

// gaussianWeights returns the weights from the centre outwards in units of
// 1/65536. Both sides together sum to exactly 65536, so a flat image stays as it is.
func gaussianWeights(sigma float64) []uint32 {
	exact := make([]float64, gaussianRadius(sigma)+1)
	sum := 0.0
	for i := range exact {
		exact[i] = math.Exp(-float64(i*i) / (2 * sigma * sigma))
		sum += 2 * exact[i]
	}
	sum -= exact[0]
	weights := make([]uint32, len(exact))
	weights[0] = 1 << 16
	last := 0
	for i := 1; i < len(exact); i++ {
		weights[i] = uint32(math.Round(exact[i] / sum * (1 << 16)))
		weights[0] -= 2 * weights[i]
		if weights[i] > 0 {
			last = i
		}
	}
	return weights[:last+1]
}

// blur runs both passes row by row, so that the intermediate row stays in the
// cache: down the columns into 8.8 fixed point, then along the row. The largest
// sum, 65536 * 65280 and the rounding, fits 32 bits.
func blur(weights []uint32) rows {
	return func(dst, src Image, low, high int) {
		n, pad := src.W*src.Channels, (len(weights)-1)*src.Channels
		sums := make([]uint32, n)
		line := make([]uint16, pad+n+pad)
		for y := low; y < high; y++ {
			blurDown(sums, src, y, weights)
			for i, s := range sums {
				line[pad+i] = uint16((s + 1<<7) >> 8)
			}
			replicate(line, pad, src.Channels)
			blurAlong(sums, line, src.Channels, weights)
			out := dst.Row(y)
			for i, s := range sums {
				out[i] = byte((s + 1<<23) >> 24)
			}
		}
	}
}

func blurDown(sums []uint32, src Image, y int, weights []uint32) {
	for i, v := range src.Row(y) {
		sums[i] = weights[0] * uint32(v)
	}
	for k, w := range weights[1:] {
		above := src.Row(max(y-k-1, 0))[:len(sums)]
		below := src.Row(min(y+k+1, src.H-1))[:len(sums)]
		for i := range sums {
			sums[i] += w * (uint32(above[i]) + uint32(below[i]))
		}
	}
}

func blurAlong(sums []uint32, line []uint16, channels int, weights []uint32) {
	n, pad := len(sums), (len(weights)-1)*channels
	for i, v := range line[pad : pad+n] {
		sums[i] = weights[0] * uint32(v)
	}
	for k, w := range weights[1:] {
		step := (k + 1) * channels
		left, right := line[pad-step:][:n], line[pad+step:][:n]
		for i := range sums {
			sums[i] += w * (uint32(left[i]) + uint32(right[i]))
		}
	}
}

// replicate copies the first and the last pixel of the row into the padding
// on both sides of it.
func replicate[T any](line []T, pad, channels int) {
	end := len(line) - pad
	for i := range pad {
		line[i] = line[pad+i%channels]
		line[end+i] = line[end-channels+i%channels]
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

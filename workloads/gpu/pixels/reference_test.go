package pixels

import (
	"math"
	"math/rand/v2"
)

// picture is a batch on the host.
type picture struct {
	width, height, channels, images int
	data                            []byte
}

func newPicture(width, height, channels, images int) picture {
	return picture{width, height, channels, images, make([]byte, width*height*channels*images)}
}

// random has noise, and here and there the extremes side by side.
func randomPicture(r *rand.Rand, width, height, images int) picture {
	p := newPicture(width, height, 3, images)
	for i := range p.data {
		p.data[i] = byte(r.Uint32())
		if r.IntN(4) == 0 {
			p.data[i] = byte(r.IntN(2)) * 255
		}
	}
	return p
}

// at is the sample of the nearest pixel inside.
func (p picture) at(image, x, y, channel int) int {
	x, y = min(max(x, 0), p.width-1), min(max(y, 0), p.height-1)
	return int(p.data[((image*p.height+y)*p.width+x)*p.channels+channel])
}

// fill sets every sample.
func (p picture) fill(f func(image, x, y, channel int) int) picture {
	i := 0
	for image := range p.images {
		for y := range p.height {
			for x := range p.width {
				for channel := range p.channels {
					p.data[i] = byte(f(image, x, y, channel))
					i++
				}
			}
		}
	}
	return p
}

func (p picture) half() picture {
	return newPicture((p.width+1)/2, (p.height+1)/2, p.channels, p.images).fill(func(image, x, y, c int) int {
		sum := 2
		for j := range 2 {
			for i := range 2 {
				sum += p.at(image, 2*x+i, 2*y+j, c)
			}
		}
		return sum / 4
	})
}

func (p picture) sobel() picture {
	luma := newPicture(p.width, p.height, 1, p.images).fill(func(image, x, y, _ int) int {
		return (77*p.at(image, x, y, 0) + 150*p.at(image, x, y, 1) + 29*p.at(image, x, y, 2) + 128) / 256
	})
	return newPicture(p.width, p.height, 1, p.images).fill(func(image, x, y, _ int) int {
		gx, gy := 0, 0
		for i, w := range []int{1, 2, 1} {
			gx += w * (luma.at(image, x+1, y+i-1, 0) - luma.at(image, x-1, y+i-1, 0))
			gy += w * (luma.at(image, x+i-1, y+1, 0) - luma.at(image, x+i-1, y-1, 0))
		}
		return min(max(gx, -gx)+max(gy, -gy), 255)
	})
}

func (p picture) table(table *[256]byte) picture {
	return newPicture(p.width, p.height, p.channels, p.images).fill(func(image, x, y, c int) int {
		return int(table[p.at(image, x, y, c)])
	})
}

// linear rounds once: float64 holds the product, and here the sum as well.
func (p picture) linear(factor, offset float32) (out []float32) {
	for _, v := range p.data {
		out = append(out, float32(math.FMA(float64(v), float64(factor), float64(offset))))
	}
	return out
}

// resample is that of package image: down the columns into 16 bits, then along.
func (p picture) resample(across, down Filter) picture {
	width, height := len(across.First), len(down.First)
	lines := make([]int16, p.images*height*p.width*p.channels)
	line := func(image, x, y, c int) *int16 {
		return &lines[((image*height+y)*p.width+min(max(x, 0), p.width-1))*p.channels+c]
	}
	for image := range p.images {
		for y := range height {
			for x := range p.width {
				for c := range p.channels {
					shift := down.Bits - 6
					sum := int32(1) << shift >> 1
					for k, w := range down.Weights[y*down.Taps:][:down.Taps] {
						sum += int32(w) * int32(p.at(image, x, int(down.First[y])+k, c))
					}
					*line(image, x, y, c) = int16(sum >> shift)
				}
			}
		}
	}
	return newPicture(width, height, p.channels, p.images).fill(func(image, x, y, c int) int {
		shift := across.Bits + 6
		sum := int32(1) << shift >> 1
		for k, w := range across.Weights[x*across.Taps:][:across.Taps] {
			sum += int32(w) * int32(*line(image, int(across.First[x])+k, y, c))
		}
		return int(min(max(sum>>shift, 0), 255))
	})
}

// gaussian is the blur in float64, of one axis after the other.
func (p picture) gaussian(weights []float64) []float64 {
	n, radius := len(p.data), len(weights)-1
	weight := func(i int) float64 { return weights[max(i, -i)] }
	down, out := make([]float64, n), make([]float64, n)
	for i := range out {
		c, x, y, image := i%p.channels, i/p.channels%p.width, i/p.channels/p.width%p.height, i/p.channels/p.width/p.height
		for k := -radius; k <= radius; k++ {
			down[i] += weight(k) * float64(p.at(image, x, y+k, c))
		}
	}
	for i := range out {
		x := i / p.channels % p.width
		for k := -radius; k <= radius; k++ {
			out[i] += weight(k) * down[i+(min(max(x+k, 0), p.width-1)-x)*p.channels]
		}
	}
	return out
}

// sigmaWeights are those of a sigma from the centre outwards.
func sigmaWeights(sigma float64, radius int) []float64 {
	weights := make([]float64, radius+1)
	sum := -1.0
	for i := range weights {
		weights[i] = math.Exp(-float64(i*i) / (2 * sigma * sigma))
		sum += 2 * weights[i]
	}
	for i := range weights {
		weights[i] /= sum
	}
	return weights
}

package image

import "math"

// resizeHalf is the rounded mean of each block of 2x2: (a + b + c + d + 2) / 4.
// An odd width or height rounds up, the missing pixels are replicated.
func resizeHalf() Operation {
	return Operation{
		Name: "resize-half", Title: "Half resize", Doc: "each 2x2 block becomes its rounded mean",
		kernels: portable(func(Params, Shape, Shape) rows { return halfRows }),
		output:  func(_ Params, s Shape) Shape { return Shape{(s.W + 1) / 2, (s.H + 1) / 2, s.Channels} }, reference: halfReference,
		parameters: noParameters,
	}
}

func halfRows(dst, src Image, low, high int) {
	for y := low; y < high; y++ {
		halfRow(dst.Row(y), src.Row(2*y), src.Row(min(2*y+1, src.H-1)), src.Channels)
	}
}

func halfRow(out, above, below []byte, channels int) {
	for x := 0; x < len(out); x += channels {
		left := 2 * x
		right := left + channels
		if right == len(above) {
			right = left
		}
		for c := range channels {
			sum := int(above[left+c]) + int(above[right+c]) + int(below[left+c]) + int(below[right+c])
			out[x+c] = byte((sum + 2) >> 2)
		}
	}
}

func halfReference(_ Params, _ Shape, src Image, x, y, channel int) float64 {
	mean := float64(src.at(2*x, 2*y, channel)+src.at(2*x+1, 2*y, channel)+
		src.at(2*x, 2*y+1, channel)+src.at(2*x+1, 2*y+1, channel)) / 4
	return math.Floor(mean + 0.5)
}

// fraction is the number of bits behind the point of a bilinear position.
const fraction = 11

// resizeBilinear interpolates between the four nearest pixels, pixel centres at
// one half, no averaging before a reduction. Positions are rounded to 1/2048 pixel.
func resizeBilinear() Operation {
	return Operation{
		Name: "resize-bilinear", Title: "Bilinear resize", Doc: "to --scale, or --width and --height",
		kernels: portable(bilinear),
		output:  bilinearShape, reference: bilinearReference, tolerance: 1,
		parameters: bilinearParameters,
	}
}

func bilinearParameters(p Params) map[string]float64 {
	if p.Width == 0 && p.Height == 0 {
		return map[string]float64{"scale": p.Scale}
	}
	set := map[string]float64{}
	if p.Width > 0 {
		set["width"] = float64(p.Width)
	}
	if p.Height > 0 {
		set["height"] = float64(p.Height)
	}
	return set
}

func bilinearShape(p Params, s Shape) Shape {
	round := func(v float64) int { return max(1, int(math.Floor(v+0.5))) }
	w, h := p.Width, p.Height
	switch {
	case w == 0 && h == 0:
		w, h = round(float64(s.W)*p.Scale), round(float64(s.H)*p.Scale)
	case w == 0:
		w = round(float64(s.W) * float64(h) / float64(s.H))
	case h == 0:
		h = round(float64(s.H) * float64(w) / float64(s.W))
	}
	return Shape{w, h, s.Channels}
}

// tap is where one output row or column reads: two neighbours, and the weight
// of the second in units of 1/2048.
type tap struct {
	first, second int
	weight        uint32
}

// taps maps n outputs onto size inputs: output i has its centre at
// (i + 1/2) size/n - 1/2.
func taps(n, size int) []tap {
	all := make([]tap, n)
	for i := range all {
		position := ((2*i+1)*size<<fraction+n)/(2*n) - 1<<(fraction-1)
		position = min(max(position, 0), (size-1)<<fraction)
		first := position >> fraction
		all[i] = tap{first, min(first+1, size-1), uint32(position & (1<<fraction - 1))}
	}
	return all
}

func bilinear(_ Params, dst, src Shape) rows {
	across, down := taps(dst.W, src.W), taps(dst.H, src.H)
	return func(dst, src Image, low, high int) {
		for y := low; y < high; y++ {
			at := down[y]
			bilinearRow(dst.Row(y), src.Row(at.first), src.Row(at.second), at.weight, across, src.Channels)
		}
	}
}

func bilinearRow(out, above, below []byte, weight uint32, across []tap, channels int) {
	const whole, half = 1 << fraction, 1 << (2*fraction - 1)
	i := 0
	for _, at := range across {
		left, right := at.first*channels, at.second*channels
		for c := range channels {
			top := (whole-at.weight)*uint32(above[left+c]) + at.weight*uint32(above[right+c])
			bottom := (whole-at.weight)*uint32(below[left+c]) + at.weight*uint32(below[right+c])
			out[i] = byte(((whole-weight)*top + weight*bottom + half) >> (2 * fraction))
			i++
		}
	}
}

func bilinearReference(_ Params, dst Shape, src Image, x, y, channel int) float64 {
	sx := (float64(x)+0.5)*float64(src.W)/float64(dst.W) - 0.5
	sy := (float64(y)+0.5)*float64(src.H)/float64(dst.H) - 0.5
	x0, y0 := int(math.Floor(sx)), int(math.Floor(sy))
	fx, fy := sx-float64(x0), sy-float64(y0)
	at := func(x, y int) float64 { return float64(src.at(x, y, channel)) }
	top := at(x0, y0)*(1-fx) + at(x0+1, y0)*fx
	bottom := at(x0, y0+1)*(1-fx) + at(x0+1, y0+1)*fx
	return top*(1-fy) + bottom*fy
}

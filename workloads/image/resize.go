package image

import "math"

// resizeParameters returns the parameters that decide the output size: the scale, or the sides
// that are set.
func resizeParameters(p Params) map[string]float64 {
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

// resizedShape is the output shape. A side that is 0 keeps the proportions; each has at least
// one pixel.
func resizedShape(p Params, s Shape) Shape {
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
	return Shape{W: w, H: h, Channels: s.Channels}
}

// resizeBilinear interpolates between the four nearest pixels. Pixel centres are at one half, and a
// reduction does not average (no antialiasing).
func resizeBilinear() Operation {
	return Operation{
		Name: "resize-bilinear", Title: "Bilinear resize", Doc: "to --scale, or --width and --height",
		kernels: kernels(func(v *simd, _ Params, dst, src Shape) rows {
			return newResampler(v, bilinearTaps(dst.W, src.W), bilinearTaps(dst.H, src.H), src).rows
		}),
		card:   resampleOnCard(bilinearTaps),
		output: resizedShape, reference: bilinearReference, tolerance: 1,
		parameters: resizeParameters,
	}
}

// bilinearBits is the number of fraction bits of a position between two samples.
const bilinearBits = 14

// bilinearTaps is the filter from size inputs to n outputs. Output i has its centre at (i + 1/2)
// size/n - 1/2, rounded to 2^-14 and limited to the outermost samples.
func bilinearTaps(n, size int) filter {
	f := newFilter(n, 2)
	for i := range n {
		position := ((2*i+1)*size<<bilinearBits+n)/(2*n) - 1<<(bilinearBits-1)
		position = min(max(position, 0), (size-1)<<bilinearBits)
		f.first[i] = position >> bilinearBits
		second := float64(position&(1<<bilinearBits-1)) / (1 << bilinearBits)
		f.weights[2*i], f.weights[2*i+1] = 1-second, second
	}
	return f
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

// lanczosRadius is the number of lobes on each side: Lanczos-3.
const lanczosRadius = 3

// resizeLanczos is sinc(x) sinc(x/3), |x| < 3. For a reduction it is stretched, so that it averages
// the inputs of an output pixel (antialiasing). Weights are divided by their sum; pixel centres are
// at one half. C. E. Duchon, Lanczos filtering in one and two dimensions, J. Appl. Meteor. 18
// (1979).
func resizeLanczos() Operation {
	return Operation{
		Name: "resize-lanczos", Title: "Lanczos resize",
		Doc: "Lanczos-3, antialiased, to --scale, or --width and --height",
		kernels: kernels(func(v *simd, _ Params, dst, src Shape) rows {
			return newResampler(v, lanczosTaps(dst.W, src.W), lanczosTaps(dst.H, src.H), src).rows
		}),
		card:   resampleOnCard(lanczosTaps),
		output: resizedShape, reference: lanczosReference, tolerance: 1,
		parameters: resizeParameters,
	}
}

// lanczosTaps is the filter from size inputs to n outputs.
func lanczosTaps(n, size int) filter {
	ratio := float64(size) / float64(n)
	stretch := max(ratio, 1)
	taps := int(math.Floor(2*lanczosRadius*stretch)) + 1
	f := newFilter(n, taps)
	for i := range n {
		centre := (float64(i) + 0.5) * ratio
		f.first[i] = int(math.Ceil(centre - lanczosRadius*stretch - 0.5))
		sum, line := 0.0, f.weights[i*f.taps:][:taps]
		for k := range line {
			line[k] = lanczos((float64(f.first[i]+k) + 0.5 - centre) / stretch)
			sum += line[k]
		}
		for k := range line {
			line[k] /= sum
		}
	}
	return f
}

// lanczos is the kernel sinc(x) sinc(x/3), 0 from |x| = 3 on.
func lanczos(x float64) float64 {
	switch {
	case x == 0:
		return 1
	case math.Abs(x) >= lanczosRadius:
		return 0
	}
	x *= math.Pi
	return lanczosRadius * math.Sin(x) * math.Sin(x/lanczosRadius) / (x * x)
}

func lanczosReference(_ Params, dst Shape, src Image, x, y, channel int) float64 {
	stretchX := max(float64(src.W)/float64(dst.W), 1)
	stretchY := max(float64(src.H)/float64(dst.H), 1)
	cx := (float64(x)+0.5)*float64(src.W)/float64(dst.W) - 0.5
	cy := (float64(y)+0.5)*float64(src.H)/float64(dst.H) - 0.5
	sum, whole := 0.0, 0.0
	for j := int(math.Floor(cy - 3*stretchY)); j <= int(math.Ceil(cy+3*stretchY)); j++ {
		down := lanczos((float64(j) - cy) / stretchY)
		for i := int(math.Floor(cx - 3*stretchX)); down != 0 && i <= int(math.Ceil(cx+3*stretchX)); i++ {
			w := down * lanczos((float64(i)-cx)/stretchX)
			whole += w
			sum += w * float64(src.at(i, j, channel))
		}
	}
	return math.Max(0, math.Min(255, sum/whole))
}

package image

import "math"

// brightness is sample*factor + offset, rounded half up and clamped to 0..255.
func brightness() Operation {
	return Operation{
		Name: "brightness", Title: "Brightness", Doc: "sample * --factor + --offset, clamped",
		kernels: kernels(func(v *simd, p Params, dst, _ Shape) rows {
			table := brightnessTable(p)
			if f, ok := v.brightness(p, table); ok {
				return v.pointwise(dst, f)
			}
			return mapRows(table)
		}),
		output: sameShape, reference: brightnessReference,
		parameters: func(p Params) map[string]float64 {
			return map[string]float64{"factor": p.Factor, "offset": p.Offset}
		},
	}
}

func brightnessTable(p Params) *[256]byte {
	var table [256]byte
	for i := range table {
		// The conversion keeps the product from being fused with the sum, which
		// would round differently on another processor.
		table[i] = level(float64(float64(i)*p.Factor) + p.Offset)
	}
	return &table
}

// mapRows replaces every sample by its entry in the table.
func mapRows(table *[256]byte) rows {
	return func(dst, src Image, low, high int) {
		for y := low; y < high; y++ {
			in := src.Row(y)
			out := dst.Row(y)[:len(in)]
			for i, v := range in {
				out[i] = table[v]
			}
		}
	}
}

func brightnessReference(p Params, _ Shape, src Image, x, y, channel int) float64 {
	product := float64(float64(src.at(x, y, channel)) * p.Factor)
	return math.Max(0, math.Min(255, math.Floor(product+p.Offset+0.5)))
}

// brightness looks for a factor and an offset with which the kernel, which
// computes in float32, gives exactly the table. Where a half falls on the wrong
// side, a nudge of the offset may do. No table of all numbers can be had so.
func (v *simd) brightness(p Params, table *[256]byte) (linear, bool) {
	if v == nil {
		return linear{}, false
	}
	var ramp, got [256]byte
	for i := range ramp {
		ramp[i] = byte(i)
	}
	for _, nudge := range []float64{0, 2e-5, -2e-5, 6e-5, -6e-5, 2e-4, -2e-4, 1e-3, -1e-3} {
		f := linear{v.scale, v.scaleStream, 1, float32(p.Factor), float32(p.Offset + 0.5 + nudge)}
		f.plain(&got[0], &ramp[0], len(ramp), f.factor, f.offset)
		if got == *table {
			return f, true
		}
	}
	return linear{}, false
}

package image

import "math"

// brightness is sample*factor + offset, rounded half up and clamped to 0..255.
func brightness() Operation {
	return Operation{
		Name: "brightness", Title: "Brightness", Doc: "sample * --factor + --offset, clamped",
		kernels: portable(func(p Params, _, _ Shape) rows { return mapRows(brightnessTable(p)) }),
		output:  sameShape, reference: brightnessReference,
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

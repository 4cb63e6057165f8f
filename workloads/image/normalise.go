package image

import (
	"encoding/binary"
	"math"
)

// normalise is (sample/255 - mean) / deviation as float32, the usual input of a neural network.
func normalise() Operation {
	return Operation{
		Name: "normalise", Title: "Normalise", Doc: "(sample/255 - --mean) / --deviation, as float32",
		kernels: kernels(func(v *simd, p Params, dst, _ Shape) rows {
			table := normaliseTable(p)
			if f, ok := v.normalise(p, table); ok {
				return v.pointwise(dst, f)
			}
			return mapFloats(table)
		}),
		card:   normaliseOnCard,
		output: func(_ Params, s Shape) Shape { s.Float = true; return s }, reference: normaliseReference,
		// Two roundings of the factor and the offset, one of the result.
		slack: func(p Params) float64 { return 3e-7 * (1 + math.Abs(p.Mean)) / p.Deviation },
		parameters: func(p Params) map[string]float64 {
			return map[string]float64{"mean": p.Mean,
				"deviation": p.Deviation}
		},
	}
}

// normaliseLine is the factor and the offset of a sample.
func normaliseLine(p Params) (factor, offset float32) {
	return float32(1 / (255 * p.Deviation)), float32(-p.Mean / p.Deviation)
}

// normaliseTable is the output for each of the 256 levels, rounded once as by a fused multiply-add:
// float64 holds the product of two float32s exactly.
func normaliseTable(p Params) *[256]uint32 {
	factor, offset := normaliseLine(p)
	var table [256]uint32
	for i := range table {
		table[i] = math.Float32bits(float32(math.FMA(float64(i), float64(factor), float64(offset))))
	}
	return &table
}

// normalise returns the kernel, and whether it gives exactly the table.
func (v *simd) normalise(p Params, table *[256]uint32) (linear, bool) {
	if v == nil {
		return linear{}, false
	}
	factor, offset := normaliseLine(p)
	f := inFloats(v.float, v.floatStream, 4, factor, offset)
	var ramp [256]byte
	for i := range ramp {
		ramp[i] = byte(i)
	}
	var got [4 * len(ramp)]byte
	f.plain(&got[0], &ramp[0], len(ramp))
	for i, want := range table {
		if binary.LittleEndian.Uint32(got[4*i:]) != want {
			return linear{}, false
		}
	}
	return f, true
}

// mapFloats replaces every sample by its entry in the table, a float32.
func mapFloats(table *[256]uint32) rows {
	return func(dst, src Image, low, high int) {
		for y := low; y < high; y++ {
			out := dst.Row(y)
			for i, v := range src.Row(y) {
				binary.LittleEndian.PutUint32(out[4*i:], table[v])
			}
		}
	}
}

func normaliseReference(p Params, _ Shape, src Image, x, y, channel int) float64 {
	return (float64(src.at(x, y, channel))/255 - p.Mean) / p.Deviation
}

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
		card:   brightnessOnCard,
		output: sameShape, reference: brightnessReference,
		parameters: func(p Params) map[string]float64 {
			return map[string]float64{"factor": p.Factor, "offset": p.Offset}
		},
	}
}

// brightnessTable is the output for each of the 256 levels. The kernels must give exactly these.
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

// brightnessReference is the definition in float64, rounded half up and clamped.
func brightnessReference(p Params, _ Shape, src Image, x, y, channel int) float64 {
	product := float64(float64(src.at(x, y, channel)) * p.Factor)
	return math.Max(0, math.Min(255, math.Floor(product+p.Offset+0.5)))
}

// brightness finds a kernel and its constants that give exactly the table. It tries 16-bit
// arithmetic first, then float32 with small changes of the offset, which can correct halves
// that round to the wrong side. It is false for the few tables that no kernel gives.
func (v *simd) brightness(p Params, table *[256]byte) (linear, bool) {
	if v == nil {
		return linear{}, false
	}
	candidates := v.inWords(p, table)
	for _, nudge := range []float64{0, 2e-5, -2e-5, 6e-5, -6e-5, 2e-4, -2e-4, 1e-3, -1e-3} {
		candidates = append(candidates, inFloats(v.scale, v.scaleStream, 1, float32(p.Factor),
			float32(p.Offset+0.5+nudge)))
	}
	var ramp, got [256]byte
	for i := range ramp {
		ramp[i] = byte(i)
	}
	for _, f := range candidates {
		f.plain(&got[0], &ramp[0], len(ramp))
		if got == *table {
			return f, true
		}
	}
	return linear{}, false
}

// inWords computes the constants of the 16-bit kernel: as many fraction bits as 255 times the
// factor leaves, the factors nearest to the right one, and the middle of the offsets that give
// every entry of the table. It is empty if no factor has such an offset.
func (v *simd) inWords(p Params, table *[256]byte) []linear {
	shift := 8
	for ; shift > 0 && p.Factor*math.Ldexp(1, 8+shift) >= 1<<16; shift-- {
	}
	for near := range 9 {
		factor := int(math.Ldexp(p.Factor, 8+shift)) + (near+1)/2*(1-near%2*2)
		if factor < 0 || factor >= 1<<16 {
			continue
		}
		least, most := -1<<15, 1<<15-1
		for i, want := range table {
			product := i * factor >> 8
			if want > 0 {
				least = max(least, int(want)<<shift-product)
			}
			if want < 255 {
				most = min(most, (int(want)+1)<<shift-1-product)
			}
		}
		if least > most {
			continue
		}
		offset := (least + most) >> 1
		twice := func(n int) uint32 { return uint32(n)<<16 | uint32(n) }
		a, b, c, d := twice(factor), twice(max(offset, 0)), twice(max(-offset, 0)), uint64(shift)
		return []linear{{
			func(dst, src *byte, n int) { v.words(dst, src, n, a, b, c, d) },
			func(dst, src *byte, n int) { v.wordsStream(dst, src, n, a, b, c, d) }, 1,
		}}
	}
	return nil
}

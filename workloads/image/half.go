package image

import (
	"math"
	"unsafe"
)

// resizeHalf is the rounded mean of each block of 2x2: (a + b + c + d + 2) / 4. An odd width or
// height rounds up; the missing pixels are copies of the last ones.
func resizeHalf() Operation {
	return Operation{
		Name: "resize-half", Title: "Half resize", Doc: "each 2x2 block becomes its rounded mean",
		kernels: kernels(func(v *simd, _ Params, _, src Shape) rows {
			if v != nil && src.W/2 < v.bytes/4 {
				v = nil
			}
			return v.halfRows
		}),
		output: func(_ Params, s Shape) Shape {
			return Shape{W: (s.W + 1) / 2, H: (s.H + 1) / 2,
				Channels: s.Channels}
		},
		card:       halfOnCard,
		reference:  halfReference,
		parameters: noParameters,
	}
}

// halfRows computes rows with the kernels of v, or without any if v is nil.
func (v *simd) halfRows(dst, src Image, low, high int) {
	stream := v != nil && src.Bytes() >= streamFrom
	for y := low; y < high; y++ {
		out, above, below := dst.Row(y), src.Row(2*y), src.Row(min(2*y+1, src.H-1))
		done := 0
		if v != nil { // an odd last pixel is left over
			done = src.W / 2
			// The kernel prefetches the next two rows.
			ahead := min(2, src.H-1-2*y) * src.Stride
			v.halfRow(out, above, below, done, uintptr(ahead), stream)
		}
		halfRow(out[done*src.Channels:], above[2*done*src.Channels:], below[2*done*src.Channels:], src.Channels)
	}
	if stream {
		v.fence()
	}
}

// halfRow computes n pixels of an output row, at least a quarter of a vector. With stream, the
// aligned middle is stored past the caches.
func (v *simd) halfRow(out, above, below []byte, n int, ahead uintptr, stream bool) {
	quarter := v.bytes / 4
	part := func(from, to int) { v.half(&out[3*from], &above[6*from], &below[6*from], to-from) }
	head, whole := 0, 0
	if stream {
		// Pixels of three bytes reach every alignment: 43 is the inverse of 3 modulo 64.
		head = int(-uintptr(unsafe.Pointer(&out[0]))*43) & (v.bytes - 1)
		whole = max(n-head, 0) / v.bytes * v.bytes
	}
	if whole == 0 {
		cover(n, quarter, part)
		return
	}
	v.halfStream(&out[3*head], &above[6*head], &below[6*head], ahead, whole)
	// The ends overlap the middle, with the same values.
	if head > 0 {
		cover(max(head, quarter), quarter, part)
	}
	if rest := n - head - whole; rest > 0 {
		from := n - max(rest, quarter)
		cover(n-from, quarter, func(low, high int) { part(from+low, from+high) })
	}
}

// halfRow is the portable kernel for one output row.
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

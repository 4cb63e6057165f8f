package image

import "unsafe"

// streamFrom is the size of an image from which on its pixels are stored past
// the caches: one that large would only push out what is still needed.
const streamFrom = 4 << 20

// linear is a kernel that computes sample*factor + offset with its two numbers,
// with stores into and past the caches.
type linear struct {
	plain, stream func(dst, src *byte, n int)
	// size is that of an output sample in bytes.
	size int
}

func inFloats(plain, stream func(dst, src *byte, n int, factor, offset float32), size int, factor, offset float32) linear {
	return linear{
		func(dst, src *byte, n int) { plain(dst, src, n, factor, offset) },
		func(dst, src *byte, n int) { stream(dst, src, n, factor, offset) }, size,
	}
}

// pointwise runs the kernel over rows, or over all rows at once where they touch.
func (v *simd) pointwise(shape Shape, f linear) rows {
	large := shape.Bytes() >= streamFrom
	return func(dst, src Image, low, high int) {
		if n := src.W * src.Channels; src.Stride == n && dst.Stride == n*f.size && low < high {
			v.run(f, dst.Pix[low*dst.Stride:high*dst.Stride], src.Pix[low*n:high*n], large)
			return
		}
		for y := low; y < high; y++ {
			v.run(f, dst.Row(y), src.Row(y), large)
		}
	}
}

// run covers src, which holds a vector at least.
func (v *simd) run(f linear, dst, src []byte, stream bool) {
	n, from, to := len(src), 0, 0
	if stream {
		from, to = v.aligned(dst, f.size, n)
	}
	if from == to {
		cover(n, v.bytes, func(from, to int) { f.plain(&dst[from*f.size], &src[from], to-from) })
		return
	}
	// The ends overlap what is stored past the caches, with the same values.
	f.plain(&dst[0], &src[0], v.bytes)
	f.stream(&dst[from*f.size], &src[from], to-from)
	f.plain(&dst[(n-v.bytes)*f.size], &src[n-v.bytes], v.bytes)
}

// aligned is the range of n elements of that size, whole vectors of bytes of
// input, which begins at an aligned address of dst; it is empty when no element
// does.
func (v *simd) aligned(dst []byte, size, n int) (from, to int) {
	address := int(uintptr(unsafe.Pointer(&dst[0])) % uintptr(v.bytes))
	away := (v.bytes - address) % v.bytes
	if away%size != 0 {
		return 0, 0
	}
	from = away / size
	return from, from + max(0, n-from)/v.bytes*v.bytes
}

package image

import "unsafe"

// streamFrom is the size in bytes from which an image is stored past the caches, because it would
// evict data that is still needed.
const streamFrom = 4 << 20

// linear is a kernel of sample*factor + offset with fixed constants. plain stores into the
// caches, stream past them.
type linear struct {
	plain, stream func(dst, src *byte, n int)
	// size is that of an output sample in bytes.
	size int
}

// inFloats is the linear kernel that computes in float32 with these constants.
func inFloats(plain, stream func(dst, src *byte, n int, factor, offset float32), size int, factor,
	offset float32) linear {
	return linear{
		func(dst, src *byte, n int) { plain(dst, src, n, factor, offset) },
		func(dst, src *byte, n int) { stream(dst, src, n, factor, offset) }, size,
	}
}

// pointwise runs the kernel over rows, or over all rows at once if there is no padding.
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

// run applies the kernel to all of src, which has at least one vector.
func (v *simd) run(f linear, dst, src []byte, stream bool) {
	n, from, to := len(src), 0, 0
	if stream {
		from, to = v.aligned(dst, f.size, n)
	}
	if from == to {
		cover(n, v.bytes, func(from, to int) { f.plain(&dst[from*f.size], &src[from], to-from) })
		return
	}
	// The ends overlap the middle, with the same values.
	f.plain(&dst[0], &src[0], v.bytes)
	f.stream(&dst[from*f.size], &src[from], to-from)
	f.plain(&dst[(n-v.bytes)*f.size], &src[n-v.bytes], v.bytes)
}

// aligned is the range of the n elements of dst that begins at an aligned address and is whole
// vectors of input. size is that of an element in bytes. The range is empty if no element is
// aligned.
func (v *simd) aligned(dst []byte, size, n int) (from, to int) {
	address := int(uintptr(unsafe.Pointer(&dst[0])) % uintptr(v.bytes))
	away := (v.bytes - address) % v.bytes
	if away%size != 0 {
		return 0, 0
	}
	from = away / size
	return from, from + max(0, n-from)/v.bytes*v.bytes
}

package blas

// A tile of 2 x 4 fits the 16 registers of amd64: 8 sums, 4 elements of B and 2 of A.
const (
	portableRows    = 2
	portableColumns = 4
)

// multiplyPortable is the kernel in plain Go.
func multiplyPortable[T Float](s *strip[T]) {
	rows, cols := s.strides(portableRows)
	for p := range s.panels {
		var c00, c01, c02, c03, c10, c11, c12, c13 T
		b := s.b[p*s.k*portableColumns:][:s.k*portableColumns]
		at := 0
		for ; len(b) >= portableColumns; b = b[portableColumns:] {
			b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
			x := s.a[at]
			c00 += x * b0
			c01 += x * b1
			c02 += x * b2
			c03 += x * b3
			x = s.a[at+rows]
			c10 += x * b0
			c11 += x * b1
			c12 += x * b2
			c13 += x * b3
			at += cols
		}
		s.put(p*portableColumns, c00, c01, c02, c03)
		s.put(s.ldc+p*portableColumns, c10, c11, c12, c13)
	}
}

// put writes alpha times four sums to C from element at on, or adds them if s.add is set.
func (s *strip[T]) put(at int, v0, v1, v2, v3 T) {
	c := s.c[at:][:4]
	v0, v1, v2, v3 = s.alpha*v0, s.alpha*v1, s.alpha*v2, s.alpha*v3
	if s.add {
		v0, v1, v2, v3 = c[0]+v0, c[1]+v1, c[2]+v2, c[3]+v3
	}
	c[0], c[1], c[2], c[3] = v0, v1, v2, v3
}

// packPortable is kernel.packRows in plain Go.
func packPortable[T Float](dst, src []T, ld, k, panels int) {
	for l := range k {
		row := src[l*ld:][:panels*portableColumns]
		for p := range panels {
			copy(dst[(p*k+l)*portableColumns:][:portableColumns], row[p*portableColumns:])
		}
	}
}

// transposePortable is kernel.transpose in plain Go.
func transposePortable[T Float](dst []T, gap int, src []T, ld, k int) {
	transposeFrom(0, dst, gap, src, ld, k)
}

// transposeFrom is kernel.transpose for the elements from first on, which the assembly leaves over.
func transposeFrom[T Float](first int, dst []T, gap int, src []T, ld, k int) {
	for l := first; l < k; l++ {
		for i := range 4 {
			dst[l*gap+i] = src[i*ld+l]
		}
	}
}

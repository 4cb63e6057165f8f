package blas

// strip is one call of a kernel: mr rows of C, for all columns of some panels of B. Distances are
// in elements.
type strip[T Float] struct {
	k, panels int
	// a has element (i, l) of A at i*lda + l or, if packed, at i + mr*l.
	a      []T
	lda    int
	packed bool
	// b is the panels one after the other, k rows of nr elements each.
	b     []T
	c     []T
	ldc   int
	alpha T
	// add is whether the product is added to C; otherwise C is only written.
	add bool
	// next is the part of A that the next strip reads. The kernel prefetches it: step elements
	// further for every eight steps along K, jump elements further for every panel. With each line
	// it fetches the line also elements after it.
	next             []T
	step, jump, also int
}

// kernel is the set of functions that an instruction set implements for one element type.
type kernel[T Float] struct {
	// mr and nr are the rows and columns of the tile of C that is kept in registers.
	mr, nr   int
	multiply func(s *strip[T])
	// narrow are kernels for narrower panels: a third and two thirds of nr columns.
	narrow []func(s *strip[T])
	// packRows copies k rows of panels*nr elements, ld apart, into panels.
	packRows func(dst, src []T, ld, k, panels int)
	// transpose writes element l of each of 4 rows, ld apart, to dst[l*gap:l*gap+4], for k
	// elements.
	transpose func(dst []T, gap int, src []T, ld, k int)
}

// kernelFor returns the kernel of an instruction set, which the machine must have.
func kernelFor[T Float](isa ISA) kernel[T] {
	if isa != Portable {
		if k, ok := assembly[T](isa); ok {
			return k
		}
	}
	return kernel[T]{mr: portableRows, nr: portableColumns, multiply: multiplyPortable[T], packRows: packPortable[T],
		transpose: transposePortable[T]}
}

// last returns the width of the narrowest panel that fits the columns, fewer than nr, and its
// kernel. At the right edge of C a whole panel would multiply zeros.
func (k kernel[T]) last(columns int) (width int, multiply func(s *strip[T])) {
	for i, narrow := range k.narrow {
		if width := k.nr / (len(k.narrow) + 1) * (i + 1); columns <= width {
			return width, narrow
		}
	}
	return k.nr, k.multiply
}

// check touches the last elements that the kernel reads or writes, so that a strip beyond its
// slices panics instead of reading or writing foreign memory.
func (s *strip[T]) check(mr, nr int) {
	rows, cols := s.strides(mr)
	_ = s.a[(mr-1)*rows+(s.k-1)*cols]
	_ = s.b[s.k*s.panels*nr-1]
	_ = s.c[(mr-1)*s.ldc+s.panels*nr-1]
}

// strides returns the distances between rows and between columns of A, in elements.
func (s *strip[T]) strides(mr int) (rows, cols int) {
	if s.packed {
		return 1, mr
	}
	return s.lda, 1
}

package blas

// strip is one call of a kernel: mr rows of C, for all columns of some panels
// of B. Distances are in elements.
type strip[T Float] struct {
	k, panels int
	// a holds element (i, l) of A at i*lda + l, or, packed, at i + mr*l.
	a      []T
	lda    int
	packed bool
	// b holds the panels one after the other, k rows of nr elements each.
	b     []T
	c     []T
	ldc   int
	alpha T
	// add says that the product is added to C; else C is only written.
	add bool
	// next is what the next strip reads of A. It is fetched into the cache on
	// the way: step elements further for each eight of k, jump for each panel, and with
	// each line the one that lies also elements after it.
	next             []T
	step, jump, also int
}

// kernel is what is written for an instruction set.
type kernel[T Float] struct {
	// mr and nr are the rows and columns of the tile of C that is kept in registers.
	mr, nr   int
	multiply func(s *strip[T])
	// narrow are kernels for panels of a part of nr: nr/3 and two thirds of it.
	narrow []func(s *strip[T])
	// packRows copies k rows of panels*nr elements, ld apart, into panels.
	packRows func(dst, src []T, ld, k, panels int)
	// transpose writes element l of each of 4 rows, ld apart, at l*gap and the
	// three places after it, for k elements.
	transpose func(dst []T, gap int, src []T, ld, k int)
}

// kernelFor returns the kernel of an instruction set, which must be available.
func kernelFor[T Float](isa ISA) kernel[T] {
	if isa != Portable {
		if k, ok := assembly[T](isa); ok {
			return k
		}
	}
	return kernel[T]{mr: portableRows, nr: portableColumns, multiply: multiplyPortable[T], packRows: packPortable[T], transpose: transposePortable[T]}
}

// last returns the columns of the narrowest panel that holds so many, fewer than
// nr, and its kernel: where C ends on the right, a whole panel would multiply zeros.
func (k kernel[T]) last(columns int) (width int, multiply func(s *strip[T])) {
	for i, narrow := range k.narrow {
		if width := k.nr / (len(k.narrow) + 1) * (i + 1); columns <= width {
			return width, narrow
		}
	}
	return k.nr, k.multiply
}

// check refers to the last elements that the kernel touches, so that a strip
// that reaches too far panics in place of reading or writing what is not its own.
func (s *strip[T]) check(mr, nr int) {
	rows, cols := s.strides(mr)
	_ = s.a[(mr-1)*rows+(s.k-1)*cols]
	_ = s.b[s.k*s.panels*nr-1]
	_ = s.c[(mr-1)*s.ldc+s.panels*nr-1]
}

// strides returns how far the rows and the columns of A are apart.
func (s *strip[T]) strides(mr int) (rows, cols int) {
	if s.packed {
		return 1, mr
	}
	return s.lda, 1
}

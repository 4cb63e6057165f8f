package blas

// packB packs rows l to l+depth of op(B) for the columns of the task. The last panel is as narrow
// as a kernel allows, and is filled with zeros.
func (g *product[T]) packB(w *workspace[T], l, depth int, t tile) {
	nr := g.kernel.nr
	whole, rest := t.cols/nr, t.cols%nr
	width, _ := g.kernel.last(rest)
	if g.transB {
		for p := range whole {
			packTransposed(g.kernel, w.b[p*depth*nr:], nr, g.b[(t.col+p*nr)*g.ldb+l:], g.ldb, nr, depth)
		}
		if rest > 0 {
			packTransposed(g.kernel, w.b[whole*depth*nr:], width, g.b[(t.col+whole*nr)*g.ldb+l:], g.ldb, rest, depth)
		}
		return
	}
	src := g.b[l*g.ldb+t.col:]
	if whole > 0 {
		g.kernel.packRows(w.b, src, g.ldb, depth, whole)
	}
	if rest > 0 {
		packNarrow(w.b[whole*depth*nr:], width, src[whole*nr:], g.ldb, rest, depth)
	}
}

// placeA sets the strip's A to rows i to i+rows of op(A), from column l on. Whole panels of a
// matrix that is not transposed are read in place: the kernel takes one element of each row at a
// time, so packing would move them only to read them once. The kernel prefetches the following rows
// during the given number of panels; 0 means that no rows follow.
func (g *product[T]) placeA(w *workspace[T], i, rows, l, depth, panels int) {
	s, mr := &w.strip, g.kernel.mr
	s.step, s.jump, s.also = 0, 0, 0
	if !g.transA && rows == mr {
		s.a, s.lda, s.packed = g.a[i*g.lda+l:], g.lda, false
		s.next = s.a
		if panels > 0 {
			s.follow(g.a[(i+mr)*g.lda+l:], mr, g.lda, 8, panels)
		}
		return
	}
	s.a, s.packed = w.a, true
	s.next = w.a
	if !g.transA {
		packTransposed(g.kernel, w.a, mr, g.a[i*g.lda+l:], g.lda, rows, depth)
		return
	}
	packNarrow(w.a, mr, g.a[l*g.lda+i:], g.lda, rows, depth)
	if panels > 0 {
		s.follow(g.a[l*g.lda+i+mr:], 8, g.lda, 8*g.lda, panels)
	}
}

// follow makes the kernel prefetch rows, ld apart, as it goes through the panels: one row with each
// panel. With fewer panels than rows it is two rows, or the last rows would not be fetched.
func (s *strip[T]) follow(next []T, rows, ld, step, panels int) {
	s.next, s.step, s.jump = next, step, ld
	if panels < rows {
		s.jump, s.also = 2*ld, ld
	}
}

// packTransposed packs a panel from width rows of src, ld apart, for depth steps along K. The
// elements of one step are a column of src.
func packTransposed[T Float](k kernel[T], dst []T, gap int, src []T, ld, width, depth int) {
	i := 0
	for ; i+4 <= min(width, gap); i += 4 {
		k.transpose(dst[i:], gap, src[i*ld:], ld, depth)
	}
	for ; i < gap; i++ {
		if i >= width {
			for l := range depth {
				dst[l*gap+i] = 0
			}
			continue
		}
		row := src[i*ld:][:depth]
		for l, v := range row {
			dst[l*gap+i] = v
		}
	}
}

// packNarrow packs a panel from rows of src, ld apart, for depth steps along K. The elements of one
// step are width neighbours in a row; the rest of the panel is filled with zeros.
func packNarrow[T Float](dst []T, gap int, src []T, ld, width, depth int) {
	for l := range depth {
		to := dst[l*gap:][:gap]
		clear(to[copy(to, src[l*ld:][:width]):])
	}
}

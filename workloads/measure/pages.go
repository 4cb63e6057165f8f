package measure

import "unsafe"

// MakeAligned returns n zeros, like make, in memory for which it requests huge pages. Without them,
// a matrix or an image whose rows are on a page each costs a page-table walk at every step.
func MakeAligned[T any](n int) []T {
	all := make([]T, n)
	if n > 0 {
		adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), n*int(unsafe.Sizeof(all[0]))))
	}
	return all
}

package measure

import "unsafe"

// MakeAligned returns n zeros, like make, in memory that is mapped by huge pages where the
// system has them and gives them to who asks: a matrix or an image whose rows lie on a
// page each would otherwise cost a walk through the page tables at every step.
func MakeAligned[T any](n int) []T {
	all := make([]T, n)
	if n > 0 {
		adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), n*int(unsafe.Sizeof(all[0]))))
	}
	return all
}

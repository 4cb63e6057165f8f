package measure

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a huge page on x86-64, and on arm64 with pages of 4 KiB. On systems with
// another size the request has no effect.
const hugePage = 2 << 20

// adviseHuge requests huge pages for the part of the memory that is whole pages. It is advice, so it
// ignores errors.
func adviseHuge(memory []byte) {
	start := int(-uintptr(unsafe.Pointer(&memory[0])) % hugePage)
	if whole := (len(memory) - start) / hugePage * hugePage; whole > 0 {
		_ = unix.Madvise(memory[start:start+whole], unix.MADV_HUGEPAGE)
	}
}

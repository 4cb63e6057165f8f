package measure

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a huge page of x86-64, and of arm64 with pages of 4 KiB. Where
// it is another one, the advice does nothing.
const hugePage = 2 << 20

// adviseHuge asks for huge pages for those that lie wholly in the memory. It is advice:
// an error changes nothing.
func adviseHuge(memory []byte) {
	start := int(-uintptr(unsafe.Pointer(&memory[0])) % hugePage)
	if whole := (len(memory) - start) / hugePage * hugePage; whole > 0 {
		_ = unix.Madvise(memory[start:start+whole], unix.MADV_HUGEPAGE)
	}
}

package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// cpuid writes the instruction as a function, because golang.org/x/sys/cpu does not report the
// sizes of caches.
func cpuid() {
	TEXT("cpuid", NOSPLIT, "func(leaf, index uint32) (eax, ebx, ecx, edx uint32)")
	Doc("cpuid executes CPUID for a leaf and its index.")
	Load(Param("leaf"), reg.EAX)
	Load(Param("index"), reg.ECX)
	CPUID()
	Store(reg.EAX, Return("eax"))
	Store(reg.EBX, Return("ebx"))
	Store(reg.ECX, Return("ecx"))
	Store(reg.EDX, Return("edx"))
	RET()
}

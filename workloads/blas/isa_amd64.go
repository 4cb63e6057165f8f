package blas

import (
	"math/bits"

	"golang.org/x/sys/cpu"
)

// supported lists the instruction sets that the processor has and whose registers the operating
// system saves: package cpu checks XCR0 for both.
func supported() []ISA {
	var all []ISA
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX2 &&
		cpu.X86.HasFMA {
		all = append(all, AVX512)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, AVX2)
	}
	return all
}

// level2 is the size in bytes of the second-level cache of one core, 0 if the processor does not
// report it.
func level2() int { return level2By(cpuid) }

// level2By is level2 from CPUID. Intel lists its caches in leaf 4. AMD lists them in leaf
// 0x8000001D with the same fields, which some virtual machines leave empty. Both also report the
// size in leaf 0x80000006 (Intel SDM vol. 2A, CPUID; AMD APM vol. 3, appendices E.4.15 and E.4.5).
func level2By(cpuid func(leaf, index uint32) (eax, ebx, ecx, edx uint32)) int {
	for _, leaf := range []uint32{4, 0x8000001D} {
		if most, _, _, _ := cpuid(leaf&0x80000000, 0); most < leaf {
			continue
		}
		for index := range uint32(8) {
			eax, ebx, ecx, _ := cpuid(leaf, index)
			kind, level := eax&31, eax>>5&7
			if kind == 0 {
				break
			}
			if level != 2 || kind == 2 { // 2 is an instruction cache
				continue
			}
			sharing := int(eax>>14&0xFFF) + 1
			size := int(ebx>>22+1) * int(ebx>>12&0x3FF+1) * int(ebx&0xFFF+1) * int(ecx+1)
			// Virtual machines report a cache as shared by more cores than share it. A sharing of
			// two hyper-threads is real.
			if sharing > 1 && bits.OnesCount(uint(sharing)) == 1 && sharing <= 2 {
				size /= sharing
			}
			return size
		}
	}
	if most, _, _, _ := cpuid(0x80000000, 0); most < 0x80000006 {
		return 0
	}
	_, _, ecx, _ := cpuid(0x80000006, 0)
	return int(ecx>>16) << 10
}

package blas

import "testing"

// leaf is what CPUID answers for one index of a leaf.
type leaf [4]uint32

// intel answers like an Intel processor: its caches are in leaf 4.
func intel(caches ...leaf) map[[2]uint32]leaf {
	answers := map[[2]uint32]leaf{{0, 0}: {0x20}, {0x80000000, 0}: {0x80000008}}
	for i, cache := range caches {
		answers[[2]uint32{4, uint32(i)}] = cache
	}
	return answers
}

// amd answers like an AMD processor: its caches are in leaf 0x8000001D.
func amd(caches ...leaf) map[[2]uint32]leaf {
	answers := map[[2]uint32]leaf{{0, 0}: {0x10}, {0x80000000, 0}: {0x80000028}}
	for i, cache := range caches {
		answers[[2]uint32{0x8000001D, uint32(i)}] = cache
	}
	return answers
}

// TestLevel2By reads the CPUID answers of real processors, and what virtual machines pass on. The
// size is the share of one hyper-thread. Those of whole processors are from the dumps of
// github.com/InstLatx64/InstLatx64, of the processor that each comment names.
func TestLevel2By(t *testing.T) {
	for _, test := range []struct {
		name        string
		answers     map[[2]uint32]leaf
		want, block int
	}{
		// Core i7-5820K, Xeon D-2183IT, Xeon w7-2475X, Xeon 658X: two hyper-threads each.
		{"Haswell", intel(leaf{0x1C004121, 0x01C0003F, 0x3F}, leaf{0x1C004122, 0x01C0003F, 0x3F}, leaf{0x1C004143, 0x01C0003F, 0x1FF}, leaf{0x1C03C163, 0x04C0003F, 0x2FFF, 6}), 128 << 10, 256 << 10},
		{"Skylake", intel(leaf{0x3C004121, 0x01C0003F, 0x3F}, leaf{0x3C004122, 0x01C0003F, 0x3F}, leaf{0x3C004143, 0x03C0003F, 0x3FF}, leaf{0x3C07C163, 0x0280003F, 0x7FFF, 4}), 512 << 10, 256 << 10},
		{"Sapphire Rapids", intel(leaf{0xFC004121, 0x02C0003F, 0x3F}, leaf{0xFC004122, 0x01C0003F, 0x3F}, leaf{0xFC004143, 0x03C0003F, 0x7FF}, leaf{0xFC1FC163, 0x0380003F, 0x9FFF, 4}), 1 << 20, 512 << 10},
		{"Granite Rapids", intel(leaf{0xFC004121, 0x02C0003F, 0x3F}, leaf{0xFC004122, 0x03C0003F, 0x3F}, leaf{0xFC004143, 0x03C0003F, 0x7FF}, leaf{0xFC1FC163, 0x03C0003F, 0x23FFF, 4}), 1 << 20, 512 << 10},
		{"Emerald Rapids in a virtual machine", intel(leaf{0x121, 0x02C0003F, 63}, leaf{0x122, 0x01C0003F, 63}, leaf{0x143, 0x03C0003F, 2047}), 2 << 20, largestBlock},
		// EPYC 7742, 7763 without hyper-threads, 7713, 9654, 9655 without hyper-threads.
		{"Rome", amd(leaf{0x4121, 0x01C0003F, 0x3F}, leaf{0x4122, 0x01C0003F, 0x3F}, leaf{0x4143, 0x01C0003F, 0x3FF, 2}, leaf{0x1C163, 0x03C0003F, 0x3FFF, 1}), 256 << 10, 256 << 10},
		{"Milan, one thread a core", amd(leaf{0x121, 0x01C0003F, 0x3F}, leaf{0x122, 0x01C0003F, 0x3F}, leaf{0x143, 0x01C0003F, 0x3FF, 2}, leaf{0x1C163, 0x03C0003F, 0x7FFF, 1}), 512 << 10, 256 << 10},
		{"Milan", amd(leaf{0x4121, 0x01C0003F, 0x3F}, leaf{0x4122, 0x01C0003F, 0x3F}, leaf{0x4143, 0x01C0003F, 0x3FF, 2}, leaf{0x3C163, 0x03C0003F, 0x7FFF, 1}), 256 << 10, 256 << 10},
		{"Genoa", amd(leaf{0x4121, 0x01C0003F, 0x3F}, leaf{0x4122, 0x01C0003F, 0x3F}, leaf{0x4143, 0x01C0003F, 0x7FF, 2}, leaf{0x3C163, 0x03C0003F, 0x7FFF, 1}), 512 << 10, 256 << 10},
		{"Genoa in a virtual machine", amd(leaf{0x121, 0x01C0003F, 0x3F}, leaf{0x122, 0x01C0003F, 0x3F}, leaf{0x143, 0x01C0003F, 0x7FF, 2}, leaf{0x4163, 0x03C0003F, 0x7FFF, 1}), 1 << 20, 512 << 10},
		{"Turin, one thread a core", amd(leaf{0x121, 0x02C0003F, 0x3F}, leaf{0x122, 0x01C0003F, 0x3F}, leaf{0x143, 0x03C0003F, 0x3FF, 2}, leaf{0x1C163, 0x03C0003F, 0x7FFF, 1}), 1 << 20, 512 << 10},
		{"Turin, with no list of its caches", map[[2]uint32]leaf{{0, 0}: {0x0D}, {0x80000000, 0}: {0x80000021}, {0x80000006, 0}: {0x40802040, 0x60804040, 0x04006140, 0x0FE09140}}, 1 << 20, 512 << 10},
		{"one that tells nothing", map[[2]uint32]leaf{{0, 0}: {4}, {0x80000000, 0}: {0x80000004}, {0x80000006, 0}: {0, 0, 0x04006140}}, 0, 256 << 10},
	} {
		got := level2By(func(number, index uint32) (eax, ebx, ecx, edx uint32) {
			a := test.answers[[2]uint32{number, index}]
			return a[0], a[1], a[2], a[3]
		})
		if got != test.want || blockOf(got) != test.block {
			t.Errorf("%s: %d bytes and blocks of %d, want %d and %d", test.name, got, blockOf(got), test.want, test.block)
		}
	}
}

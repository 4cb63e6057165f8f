package blas

import "testing"

// TestLevel2By reads the CPUID answers of real processors, and what virtual machines pass on.
func TestLevel2By(t *testing.T) {
	type answers = map[[2]uint32][4]uint32
	for _, test := range []struct {
		name string
		answers
		want int
	}{
		{"Emerald Rapids", answers{{0, 0}: {0x20}, {4, 0}: {0x121, 0x02C0003F, 63}, {4, 1}: {0x122, 0x01C0003F, 63}, {4, 2}: {0x143, 0x03C0003F, 2047}}, 2 << 20},
		{"two hyper-threads have half each", answers{{0, 0}: {0x20}, {4, 0}: {1<<14 | 0x43, 0x03C0003F, 2047}}, 1 << 20},
		{"Turin", answers{{0x80000000, 0}: {0x80000028}, {0x8000001D, 0}: {0x121, 0x02C0003F, 63}, {0x8000001D, 1}: {0x143, 0x03C0003F, 1023}}, 1 << 20},
		{"Turin, with no list of its caches", answers{{0, 0}: {0x0D}, {0x80000000, 0}: {0x80000021}, {0x80000006, 0}: {0x40802040, 0x60804040, 0x04006140, 0x0FE09140}}, 1 << 20},
		{"one that tells nothing", answers{{0, 0}: {4}, {0x80000000, 0}: {0x80000004}, {0x80000006, 0}: {0, 0, 0x04006140}}, 0},
	} {
		got := level2By(func(leaf, index uint32) (eax, ebx, ecx, edx uint32) {
			a := test.answers[[2]uint32{leaf, index}]
			return a[0], a[1], a[2], a[3]
		})
		if got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.name, got, test.want)
		}
	}
}

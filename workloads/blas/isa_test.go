package blas

import (
	"slices"
	"strings"
	"testing"
)

func TestLimited(t *testing.T) {
	all := []ISA{AVX512, AVX2, Portable}
	for _, test := range []struct {
		wanted    string
		available []ISA
		want      ISA
		problem   string
	}{
		{"", all, AVX512, ""},
		{"avx2", all, AVX2, ""},
		{"portable", all, Portable, ""},
		{"avx512", []ISA{AVX2, Portable}, AVX2, "BATCHCTL_BLAS_ISA=avx512: this machine has no such kernels (it has: avx2, portable)"},
		{"sse", all, AVX512, "it has: avx512, avx2, portable"},
	} {
		got, err := limited(test.wanted, test.available)
		if got != test.want || (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: got %s, %v", test.wanted, got, err)
		}
	}
}

func TestAvailable(t *testing.T) {
	all := Available()
	if all[len(all)-1] != Portable {
		t.Errorf("got %v: plain Go runs everywhere", all)
	}
	all[0] = "spoiled"
	if again := Available(); slices.Contains(again, "spoiled") {
		t.Error("the caller's change is kept")
	}
}

func TestUnknownISAPanics(t *testing.T) {
	defer func() {
		if got := recover(); got != `blas: no kernels for "sse" on this machine` {
			t.Errorf("got %v", got)
		}
	}()
	x := []float64{1}
	Gemm(false, false, 1, 1, 1, 1, x, 1, x, 1, 0, []float64{0}, 1, Options{ISA: "sse"})
}

// TestLevel2 checks that the cache has a plausible size; otherwise CPUID is misread.
func TestLevel2(t *testing.T) {
	if got := level2(); got != 0 && (got < 128<<10 || got > 64<<20) {
		t.Errorf("the second-level cache has %d bytes", got)
	}
}

package blas

import (
	"math"
	"testing"
	"time"
)

func TestPeak(t *testing.T) {
	for _, isa := range Available() {
		for _, rate := range []float64{Peak[float64](isa, 1, time.Millisecond), Peak[float32](isa, 2, time.Millisecond), Peak[float64](isa, 0, time.Millisecond)} {
			if !(rate > 1e6) || math.IsInf(rate, 0) {
				t.Errorf("%s: %v operations per second", isa, rate)
			}
		}
	}
}

// TestPeakLoopCounts checks by the sums that the loop does as many multiply-adds as it counts.
func TestPeakLoopCounts(t *testing.T) {
	for _, isa := range Available() {
		if isa == Portable {
			continue
		}
		for _, rounds := range []int{1, 7, 1024} {
			checkPeakLoop[float64](t, isa, rounds)
			checkPeakLoop[float32](t, isa, rounds)
		}
	}
	if got := peakPortable(10, 2.0); got != 8*10*4 {
		t.Errorf("8 sums of 10 squares of 2 are %v", got)
	}
}

// checkPeakLoop checks n sums of rounds x x, which the loop adds up as s0 + x (s1 + ... + s(n-1)).
func checkPeakLoop[T Float](t *testing.T, isa ISA, rounds int) {
	loop, operations, x := peakLoop[T](isa)
	chains := map[ISA]int{AVX512: 12, AVX2: 12, NEON: 24}[isa]
	if want := float64(2 * chains * len(x)); operations != want || len(x) != map[ISA]int{AVX512: 64, AVX2: 32, NEON: 16}[isa]/size[T]() {
		t.Errorf("%s: %v operations for vectors of %d", isa, operations, len(x))
	}
	loop(rounds)
	const v = 0x1p-20
	want := float64(rounds) * (v*v + float64(chains-1)*v*v*v)
	for i, got := range x {
		// A sum more or less is a v-th of it, and float32 holds that of these rounds.
		if math.Abs(float64(got)-want) > v/2*want {
			t.Errorf("%s, %d rounds: sum %d is %v, want %v", isa, rounds, i, got, want)
		}
	}
}

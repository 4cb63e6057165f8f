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

// The loop does as many multiply-adds as it is credited with: its sums say so.
func TestPeakLoopCounts(t *testing.T) {
	for _, isa := range Available() {
		if isa == Portable {
			continue
		}
		for _, rounds := range []int{1, 7, 1000} {
			checkPeakLoop[float64](t, isa, rounds)
			checkPeakLoop[float32](t, isa, rounds)
		}
	}
	if got := peakPortable(10, 2.0); got != 8*10*4 {
		t.Errorf("8 sums of 10 squares of 2 are %v", got)
	}
}

// checkPeakLoop: 12 sums of rounds x x, put together as s0 + x (s1 + ... + s11).
func checkPeakLoop[T Float](t *testing.T, isa ISA, rounds int) {
	loop, operations, x := peakLoop[T](isa)
	if want := float64(2 * 12 * len(x)); operations != want || len(x) != map[ISA]int{AVX512: 64, AVX2: 32}[isa]/size[T]() {
		t.Errorf("%s: %v operations for vectors of %d", isa, operations, len(x))
	}
	loop(rounds)
	const v = 0x1p-20
	want := T(rounds) * (v*v + 11*v*v*v)
	for i, got := range x {
		if math.Abs(float64(got-want)) > 1e-5*float64(want) {
			t.Errorf("%s, %d rounds: sum %d is %v, want %v", isa, rounds, i, got, want)
		}
	}
}

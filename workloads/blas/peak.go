package blas

import (
	"runtime"
	"sync"
	"time"
)

// Peak measures the floating-point operations per second of the machine on that many goroutines, of
// which the caller is one (0 means GOMAXPROCS). It computes only independent fused multiply-adds of
// whole vectors in registers: the upper limit of every product with that instruction set. A fused
// multiply-add counts as two operations. With Portable it measures what compiled Go reaches on
// scalars.
//
// It runs for about the duration. Measure it in the same run as the product that you compare,
// because the clock drifts, and is lower under wide vectors.
func Peak[T Float](isa ISA, threads int, duration time.Duration) float64 {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var group sync.WaitGroup
	total := make([]float64, threads)
	measure := func(i int) {
		loop, operations, _ := peakLoop[T](isa)
		total[i] = sustained(loop, operations, duration)
	}
	for i := 1; i < threads; i++ {
		group.Go(func() { measure(i) })
	}
	measure(0)
	group.Wait()
	sum := 0.0
	for _, rate := range total {
		sum += rate
	}
	return sum
}

// sustained repeats the loop until the duration is over, and returns operations per second. Each
// call of the loop takes some ten microseconds, since a goroutine cannot be stopped inside one.
func sustained(loop func(rounds int), operations float64, duration time.Duration) float64 {
	const rounds = 5120
	loop(rounds) // the processor powers up its wide vectors first
	start := time.Now()
	for done := 1; ; done++ {
		loop(rounds)
		if elapsed := time.Since(start); elapsed >= duration {
			return operations * rounds * float64(done) / elapsed.Seconds()
		}
	}
}

// peakLoop returns the loop of an instruction set, the operations of one round, and the slice in
// which the assembly leaves its sums (nil for Portable).
func peakLoop[T Float](isa ISA) (loop func(rounds int), operations float64, sums []T) {
	if isa != Portable {
		if loop, chains, bytes := assemblyPeak[T](isa); loop != nil {
			sums = aligned[T](bytes / size[T]())
			return func(rounds int) {
				for i := range sums {
					sums[i] = 0x1p-20 // small, so that the sums stay finite
				}
				loop(rounds, &sums[0])
			}, float64(2 * chains * len(sums)), sums
		}
	}
	return func(rounds int) { peakPortable(rounds, T(1)/3) }, 2 * 8, nil
}

// peakPortable does 8 multiply-adds of scalars in each round; more sums would
// not stay in registers on amd64.
//
//go:noinline
func peakPortable[T Float](rounds int, x T) T {
	var s0, s1, s2, s3, s4, s5, s6, s7 T
	for range rounds {
		s0 += x * x
		s1 += x * x
		s2 += x * x
		s3 += x * x
		s4 += x * x
		s5 += x * x
		s6 += x * x
		s7 += x * x
	}
	return s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7
}

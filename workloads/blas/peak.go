package blas

import (
	"runtime"
	"sync"
	"time"
)

// Peak measures how many floating-point operations per second the machine does
// with that many goroutines (GOMAXPROCS where that is 0), of which the caller is one, when
// nothing but independent fused multiply-adds of whole vectors, held in registers, is
// computed: the ceiling of every product with that instruction set. A fused multiply-add counts as two operations. With
// Portable it is what compiled Go reaches on scalars.
//
// It runs for about the duration. Measure it in the same run as what is
// compared, because the clock drifts, and falls under wide vectors.
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

// sustained runs the loop in slices of some ten microseconds, since no
// goroutine can be stopped inside one, until the time is over.
func sustained(loop func(rounds int), operations float64, duration time.Duration) float64 {
	const rounds = 5000
	loop(rounds) // wide vectors are powered up first
	start := time.Now()
	for done := 1; ; done++ {
		loop(rounds)
		if elapsed := time.Since(start); elapsed >= duration {
			return operations * rounds * float64(done) / elapsed.Seconds()
		}
	}
}

// peakLoop returns the loop of an instruction set, the operations of one round,
// and where the assembly leaves its sums.
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

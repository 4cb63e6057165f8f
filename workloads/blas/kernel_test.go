package blas

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkKernel reports the share of the FMA peak that the product kernel reaches without any memory traffic: packed
// A, one panel of B and its tile of C stay in the first-level cache. No product can have a larger share. On a shared
// core it falls below 98 %, because the kernel needs more of the core than the loop that measures the peak. Each
// goroutine measures both in turn, some milliseconds each, and the median of the pairs counts.
func BenchmarkKernel(b *testing.B) {
	for _, isa := range Available() {
		if isa == Portable {
			continue
		}
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/float64/%d", isa, threads), func(b *testing.B) { benchmarkKernel[float64](b, isa, threads) })
			b.Run(fmt.Sprintf("%s/float32/%d", isa, threads), func(b *testing.B) { benchmarkKernel[float32](b, isa, threads) })
		}
	}
}

func benchmarkKernel[T Float](b *testing.B, isa ISA, threads int) {
	const window = 2 * time.Millisecond
	var group sync.WaitGroup
	shares := make([][]float64, threads)
	for t := range threads {
		group.Go(func() {
			loop, operations := inCache[T](isa)
			peak, peakOperations, _ := peakLoop[T](isa)
			for range b.N {
				shares[t] = append(shares[t], sustained(loop, operations, window)/sustained(peak, peakOperations, window))
			}
		})
	}
	group.Wait()
	all := slices.Concat(shares...)
	slices.Sort(all)
	b.ReportMetric(100*all[len(all)/2], "%ofpeak")
}

// inCache returns a loop over one strip of a product, and the operations of one step along K.
func inCache[T Float](isa ISA) (loop func(steps int), operations float64) {
	const k = 128 // the panel of B takes 12 to 24 KiB
	kernel := kernelFor[T](isa)
	s := &strip[T]{k: k, panels: 1, a: aligned[T](kernel.mr * k), packed: true, b: aligned[T](kernel.nr * k),
		c: aligned[T](kernel.mr * kernel.nr), ldc: kernel.nr, alpha: 1, add: true}
	s.next = s.a
	return func(steps int) {
		for range steps / k {
			kernel.multiply(s)
		}
	}, float64(2 * kernel.mr * kernel.nr)
}

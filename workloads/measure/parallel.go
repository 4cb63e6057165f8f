package measure

import (
	"context"
	"sync"
	"sync/atomic"
)

// Parallel splits 0..n into bands and calls f for each of them, once, on that
// many goroutines, of which the caller is one. A done context ends it before the next
// band, with an error.
func Parallel(ctx context.Context, threads, n, band int, f func(low, high int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	bands := (n + band - 1) / band
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= bands {
				return
			}
			f(i*band, min((i+1)*band, n))
		}
	}
	for range min(threads, bands) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
	return Stopped(ctx)
}

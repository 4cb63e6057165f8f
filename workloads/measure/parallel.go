package measure

import (
	"context"
	"sync"
	"sync/atomic"
)

// Parallel divides 0..n into bands and calls f once for each, on that many goroutines, of which the
// caller is one. When the context is done, it stops before the next band and returns an error.
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

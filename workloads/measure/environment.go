package measure

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// switches are the prefixes of the variables that change a library, a device or the resources of a
// program, and so its times.
var switches = []string{
	"BATCHCTL_BLAS_ISA", "BATCHCTL_CUBLAS", "BATCHCTL_LIBCUDA", "BATCHCTL_NVML", "BLIS_", "CUBLAS_", "CUDA_", "GODEBUG",
	"GOGC", "GOMAXPROCS", "GOMEMLIMIT",
	"MKL_", "NVIDIA_TF32_OVERRIDE", "NVIDIA_VISIBLE_DEVICES", "OMP_", "OPENBLAS_", "OPENCV_",
}

// Environment returns what influences a time in addition to device, kernel and versions: the clock,
// measured now, and every variable of switches that is set.
func Environment() map[string]string {
	all := map[string]string{"clock": fmt.Sprintf("%.1f GHz", clock())}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		for _, begin := range switches {
			if strings.HasPrefix(name, begin) {
				all[name] = value
			}
		}
	}
	return all
}

// clock is the processor's clock in GHz, measured once: the length of a chain of
// operations each of which takes one cycle and waits for the one before, as fast as the
// fastest of several tries.
var clock = sync.OnceValue(func() float64 {
	const links, tries = 1 << 20, 8
	best := time.Duration(1 << 62)
	for range tries {
		start := time.Now()
		chainEnd = chain(chainEnd, uint64(start.UnixNano()), links)
		best = min(best, time.Since(start))
	}
	return links / float64(max(best, 1))
})

// chainEnd keeps the compiler from removing the chain.
var chainEnd uint64

// chain computes n dependent operations, a multiple of 16, of one cycle each.
//
//go:noinline
func chain(x, y uint64, n int) uint64 {
	for range n / 16 {
		x = (x ^ y) + y
		x = (x ^ y) + y
		x = (x ^ y) + y
		x = (x ^ y) + y
		x = (x ^ y) + y
		x = (x ^ y) + y
		x = (x ^ y) + y
		x = (x ^ y) + y
	}
	return x
}

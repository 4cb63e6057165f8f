package bench

import (
	"fmt"
	"math"

	"github.com/batchctl/batchctl/workloads/measure"
)

// differentWork says in what two lines of the same key did not do the same work, or "".
func differentWork(a, b *Result) string {
	if a.Exact && b.Exact && a.Checksum != b.Checksum && a.Checksum != "" && b.Checksum != "" {
		return fmt.Sprintf("checksums %s and %s of an exact operation", a.Checksum, b.Checksum)
	}
	wa, wb := a.work(), b.work()
	if wa.Unit == wb.Unit && math.Abs(wa.Amount-wb.Amount) > 0.01*max(wa.Amount, wb.Amount) {
		return fmt.Sprintf("%s and %s %s in a repeat", digits(wa.Amount), digits(wb.Amount), wa.Unit)
	}
	return ""
}

// Work is how much one repeat does.
type Work struct {
	// Amount is in units of Unit; 0 where the line does not say.
	Amount float64 `json:"amount"`
	// Unit is "GFLOP" (1e9 floating-point operations) or "Mpixel" (1e6 input pixels).
	Unit string `json:"unit"`
}

// work is the rate times the time that it was computed from, the line's own median.
func (r *Result) work() Work {
	if len(r.Seconds) == 0 {
		return Work{}
	}
	switch median := measure.Median(r.Seconds); {
	case r.GFLOPS > 0:
		return Work{r.GFLOPS * median, "GFLOP"}
	case r.MPixels > 0:
		return Work{r.MPixels * median, "Mpixel"}
	}
	return Work{}
}

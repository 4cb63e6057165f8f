// Package cost says what jobs cost: before they run, from a plan and from how long
// such jobs took; after, from their attempts. It is pure: no I/O, no clock.
package cost

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/text"
)

// Amount is a sum in US dollars, which may be without some of the jobs.
type Amount struct {
	// USD is never negative.
	USD float64 `json:"usd"`
	// Without is the jobs that are not in the sum, by reason.
	Without []Gap `json:"without,omitempty"`
}

// Gap is jobs, or runs of them, with unknown cost, and the reason.
type Gap struct {
	Count int    `json:"count"`
	Why   string `json:"why"`
}

// unknown is the unknown amount of one job.
func unknown(format string, args ...any) Amount {
	return Amount{Without: []Gap{{1, fmt.Sprintf(format, args...)}}}
}

// Known reports whether nothing is missing from the sum.
func (a Amount) Known() bool { return len(a.Without) == 0 }

// missing is how many are not in the sum.
func (a Amount) missing() (n int) {
	for _, gap := range a.Without {
		n += gap.Count
	}
	return n
}

// Plus returns the sum of both.
func (a Amount) Plus(b Amount) Amount {
	sum := Amount{USD: a.USD + b.USD, Without: slices.Clone(a.Without)}
	for _, gap := range b.Without {
		i := slices.IndexFunc(sum.Without, func(g Gap) bool { return g.Why == gap.Why })
		if i < 0 {
			sum.Without = append(sum.Without, gap)
		} else {
			sum.Without[i].Count += gap.Count
		}
	}
	return sum
}

// Range is what something costs: between two amounts.
type Range struct {
	Low  Amount `json:"low"`
	High Amount `json:"high"`
}

// Plus returns the sum of both ends.
func (r Range) Plus(o Range) Range { return Range{r.Low.Plus(o.Low), r.High.Plus(o.High)} }

// String is the range as people read it: "0.12 to 0.48 USD", "up to 0.48 USD", "0.12
// USD or more", "up to 0.48 USD, without 2", "not known".
func (r Range) String() string {
	switch low, high := r.Low.Known(), r.High.Known(); {
	case low && high:
		return text.USDRange(r.Low.USD, r.High.USD)
	case high:
		return "up to " + text.USD(r.High.USD)
	case low && r.Low.USD > 0:
		return text.USD(r.Low.USD) + " or more"
	case r.High.USD > 0:
		return fmt.Sprintf("up to %s, without %d", text.USD(r.High.USD), r.High.missing())
	}
	return "unknown"
}

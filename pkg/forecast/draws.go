package forecast

import (
	"math"
	"slices"
	"sync"
)

// Interval is when something happens: in epoch milliseconds, or as a duration. Low and High enclose the draws'
// middle 80 per cent.
type Interval struct {
	Low    int64 `json:"low"`
	Median int64 `json:"median"`
	High   int64 `json:"high"`
}

// Coverage is the part of the draws that an Interval encloses.
const Coverage = 0.8

// IntervalOf returns the interval of draws, which it sorts.
func IntervalOf(draws []int64) Interval {
	slices.Sort(draws)
	return Interval{Quantile(draws, (1-Coverage)/2), Quantile(draws, 0.5), Quantile(draws, (1+Coverage)/2)}
}

// Quantile returns a quantile of sorted values, between neighbours; 0 of none.
func Quantile(sorted []int64, q float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	x := q * float64(len(sorted)-1)
	i := int(x)
	low, high := sorted[i], sorted[min(i+1, len(sorted)-1)]
	return low + int64(math.Round((x-float64(i))*float64(high-low)))
}

// never is the start of a job that did not start in a draw.
const never = math.MaxInt64

// Starts returns when the last of some jobs starts in each draw from first to first+draws-1; never if it does
// not. Other jobs that would start later are not simulated. workers is how many draws run at the same time.
func (s *Simulator) Starts(jobs []int, first uint64, draws, workers int) []int64 {
	wanted := make([]bool, len(s.state.Jobs))
	for _, j := range jobs {
		wanted[j] = true
	}
	out := make([]int64, draws)
	EachDraw(draws, workers, func(i int) {
		left, last := len(jobs), int64(0)
		s.Run(first+uint64(i), Options{Coarse: true}, func(e Event) bool {
			if e.Kind == Started && wanted[e.Job] {
				left--
				last = max(last, e.At)
			}
			return left > 0
		})
		if left > 0 {
			last = never
		}
		out[i] = last
	})
	return out
}

// EachDraw calls draw for each number below draws, from several goroutines. Each draw has its own seed, so the
// result does not depend on their order.
func EachDraw(draws, workers int, draw func(int)) {
	var all sync.WaitGroup
	for w := range max(workers, 1) {
		all.Go(func() {
			for i := w; i < draws; i += max(workers, 1) {
				draw(i)
			}
		})
	}
	all.Wait()
}

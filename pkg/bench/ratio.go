package bench

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/batchctl/batchctl/workloads/measure"
)

// Ratio is a quotient of two times.
type Ratio struct {
	Value float64 `json:"value"`
	// Interval is nil where a side has a single repeat, or repeats whose spread is below the timer's resolution.
	Interval *Interval `json:"interval,omitempty"`
}

// Clear reports whether the interval leaves 1 on one side.
func (r Ratio) Clear() bool { return r.clearOf(1) }

// clearOf reports whether v is outside of the interval.
func (r Ratio) clearOf(v float64) bool { return r.Interval != nil && !r.Interval.Has(v) }

// times is the ratio times a known number.
func (r Ratio) times(factor float64) Ratio {
	return Ratio{r.Value * factor, r.Interval.scaled(factor)}
}

// MedianRatio is the median of a over that of b, both samples of positive numbers. The
// interval is that of Price and Bonett (Distribution-free confidence intervals for
// difference and ratio of medians, Journal of Statistical Computation and Simulation
// 72, 2002): the logarithms of the two medians are taken as normal, with a variance
// read from two order statistics of each sample. Nothing is drawn at random. From 4
// repeats on each side it reaches Confidence; with 3 it is about 0.9, with 2 about 0.85
// (a test simulates it).
func MedianRatio(a, b []float64) Ratio {
	r := Ratio{Value: measure.Median(a) / measure.Median(b)}
	va, okA := logMedianVariance(a)
	vb, okB := logMedianVariance(b)
	if okA && okB {
		r.Interval = logInterval(r.Value, va+vb, min(len(a), len(b)))
	}
	return r
}

// logInterval is the interval of a positive value whose logarithm has that variance,
// estimated from samples of n values at least.
func logInterval(value, variance float64, n int) *Interval {
	reach := math.Exp(mathext.NormalQuantile((1+Confidence)/2) * math.Sqrt(variance))
	interval := &Interval{value / reach, value * reach, Confidence}
	switch n {
	case 2:
		interval.Confidence = 0.85
	case 3:
		interval.Confidence = 0.9
	}
	return interval
}

// logMedianVariance estimates the variance of the logarithm of a sample's median: half
// the distance of the c-th smallest and c-th largest, c = (n+1)/2 - sqrt(n) rounded,
// over the normal deviate of the confidence that they have as an interval. It is false
// for fewer than two values, and if these two are equal: a coarse timer hides the spread.
func logMedianVariance(values []float64) (v float64, ok bool) {
	n := len(values)
	if n < 2 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	c := max(int(math.Round(float64(n+1)/2-math.Sqrt(float64(n)))), 1)
	if sorted[c-1] == sorted[n-c] {
		return 0, false
	}
	outside := headsAtMost(c-1, n) // on one side
	z := mathext.NormalQuantile(1 - outside)
	return math.Pow((math.Log(sorted[n-c])-math.Log(sorted[c-1]))/(2*z), 2), true
}

package bench

import (
	"math"
	"slices"

	"github.com/batchctl/batchctl/workloads/measure"
)

// Confidence is that of every interval: the share of all samples for which an
// interval made in this way holds the true value.
const Confidence = 0.95

// Interval is a range that holds the true value with the confidence.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Confidence is what the interval reaches. With few repeats it is below the constant
	// Confidence, and the interval is as wide as the sample.
	Confidence float64 `json:"confidence"`
}

// Has reports whether the value lies within.
func (i Interval) Has(v float64) bool { return i.Low <= v && v <= i.High }

// scaled is the interval of the value times a positive factor.
func (i *Interval) scaled(factor float64) *Interval {
	if i == nil {
		return nil
	}
	return &Interval{i.Low * factor, i.High * factor, i.Confidence}
}

// Summary is what a sample of times says, in seconds.
type Summary struct {
	N      int     `json:"repeats"`
	Min    float64 `json:"min"`
	Q1     float64 `json:"q1"`
	Median float64 `json:"median"`
	Q3     float64 `json:"q3"`
	Max    float64 `json:"max"`
	// MAD is the median absolute deviation from the median, not scaled.
	MAD float64 `json:"mad"`
	// Interval is that of the median; nil for a single repeat.
	Interval *Interval `json:"interval,omitempty"`
}

// Summarize describes a sample. It returns nil for an empty one.
func Summarize(values []float64) *Summary {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	s := &Summary{
		N: len(sorted), Min: sorted[0], Max: sorted[len(sorted)-1],
		Q1: quantile(sorted, 0.25), Median: quantile(sorted, 0.5), Q3: quantile(sorted, 0.75),
		Interval: medianInterval(sorted),
	}
	off := make([]float64, len(sorted))
	for i, v := range sorted {
		off[i] = math.Abs(v - s.Median)
	}
	s.MAD = measure.Median(off)
	return s
}

// Tight reports whether the median is known well enough to stop repeating: its
// interval reaches the constant Confidence, and is no wider than bound times the
// median. 0.05 stands for 5 %. It takes 6 repeats at least.
func (s *Summary) Tight(bound float64) bool {
	return s.Interval != nil && s.Interval.Confidence >= Confidence && s.Width() <= bound
}

// Width is the width of the interval over the median; infinite for a single repeat.
func (s *Summary) Width() float64 {
	if s.Interval == nil {
		return math.Inf(1)
	}
	return (s.Interval.High - s.Interval.Low) / s.Median
}

// quantile interpolates between the order statistics (definition 7 of Hyndman and
// Fan, Sample Quantiles in Statistical Packages, The American Statistician 50, 1996),
// which gonum does not have.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := at - float64(i)
	return (1-part)*sorted[i] + part*sorted[i+1]
}

// medianInterval is the distribution-free interval between two order statistics. The
// k-th smallest and the k-th largest of n hold the true median between them with the
// probability 1 - 2 P(B < k), B binomial with n and 1/2 (David and Nagaraja, Order
// Statistics, 2003, section 7.1). The greatest k that reaches Confidence is taken, or
// the whole sample where none does.
func medianInterval(sorted []float64) *Interval {
	n := len(sorted)
	if n < 2 {
		return nil
	}
	within := func(k int) float64 { return 1 - 2*headsAtMost(k-1, n) }
	k := 1
	for 2*(k+1) <= n && within(k+1) >= Confidence {
		k++
	}
	return &Interval{sorted[k-1], sorted[n-k], within(k)}
}

package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Curve is one operation by size: all its pairs that differ in nothing else.
type Curve struct {
	Workload   string `json:"workload"`
	Operation  string `json:"operation"`
	Batch      int    `json:"batch,omitempty"`
	Type       string `json:"type"`
	Parameters string `json:"parameters,omitempty"`
	Title      string `json:"title"`
	// Pairs are in the order of their lengths.
	Pairs []*Pair `json:"-"`
	// Base and Other are the laws of the two sides; nil with a single size.
	Base  *Law `json:"base,omitempty"`
	Other *Law `json:"other,omitempty"`
	// ByTime is where both sides take the same time, ByCost where they cost the same.
	// ByCost is nil without prices.
	ByTime *BreakEven `json:"breakEvenByTime"`
	ByCost *BreakEven `json:"breakEvenByCost,omitempty"`
}

// Name returns the curve's name in a report.
func (c *Curve) Name() string {
	return strings.TrimSpace(c.Title + " " +
		strings.TrimSpace(Key{Batch: c.Batch, Type: c.Type, Parameters: c.Parameters}.where()))
}

// BreakEven is the size at which the better side changes.
type BreakEven struct {
	// From and To are the smallest and the largest size that was measured.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// At are the interpolated sizes at which the sides are even. It is empty if one side is
	// better at all sizes.
	At []float64 `json:"at,omitempty"`
	// Low and High are measured sizes that certainly enclose the break-even: at each, the
	// better side is clear beyond its interval. They are 0 if there are none, or if the better
	// side changes more than once.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// Above is the side that is better at the largest size: "base" or "other".
	Above string `json:"above"`
	// Extrapolated is the size at which the fitted laws meet, outside of the measured range; 0
	// if they do not. No decision uses it.
	Extrapolated float64 `json:"extrapolated,omitempty"`
	// Summary describes the result as text.
	Summary string `json:"words"`
}

// curves groups the pairs that have a length by operation.
func curves(pairs []*Pair) []*Curve {
	var all []*Curve
	for _, p := range pairs {
		if p.Length == 0 {
			continue
		}
		i := slices.IndexFunc(all, func(c *Curve) bool {
			return c.Workload == p.Workload && c.Operation == p.Operation && c.Batch == p.Batch && c.Type == p.Type &&
				c.Parameters == p.Parameters
		})
		if i < 0 {
			i = len(all)
			all = append(all, &Curve{p.Workload, p.Operation, p.Batch, p.Type, p.Parameters, p.Title, nil, nil, nil,
				nil, nil})
		}
		all[i].Pairs = append(all[i].Pairs, p)
	}
	for _, c := range all {
		slices.SortStableFunc(c.Pairs, func(a, b *Pair) int { return cmp.Compare(a.Length, b.Length) })
		c.fit()
	}
	return all
}

// fit fits a law to each side, if there are at least two sizes.
func (c *Curve) fit() {
	var sizes, base, other []float64
	for _, p := range c.Pairs {
		sizes = append(sizes, p.Length)
		base, other = append(base, p.Base.Summary.Median), append(other, p.Other.Summary.Median)
	}
	a, okA := FitLaw(sizes, base)
	b, okB := FitLaw(sizes, other)
	if okA && okB {
		c.Base, c.Other = &a, &b
	}
}

// breakEven finds the sizes at which the ratio of the sides, times factor, passes 1. It
// interpolates linearly between the logarithms of neighbouring sizes. base and other are the
// names of the sides; better is the adjective of the better one.
func (c *Curve) breakEven(factor float64, base, other, better string) *BreakEven {
	last := len(c.Pairs) - 1
	e := &BreakEven{From: c.Pairs[0].Length, To: c.Pairs[last].Length, Above: "base"}
	height := func(i int) float64 { return math.Log(c.Pairs[i].SpeedUp.Value * factor) }
	for i := range last {
		if (height(i) >= 0) == (height(i+1) >= 0) || c.Pairs[i].Length == c.Pairs[i+1].Length {
			continue
		}
		low, high := math.Log(c.Pairs[i].Length), math.Log(c.Pairs[i+1].Length)
		part := height(i) / (height(i) - height(i+1))
		e.At = append(e.At, math.Exp(low+part*(high-low)))
	}
	if height(last) >= 0 {
		e.Above = "other"
	}
	if len(e.At) == 1 {
		e.Low, e.High = c.bracket(factor, e.At[0])
	}
	if c.Base != nil && len(e.At) == 0 && len(c.Pairs) > 2 {
		if at, ok := meets(*c.Base, *c.Other, factor); ok && (at < e.From || at > e.To) {
			e.Extrapolated = at
		}
	}
	e.Summary = e.describe(base, other, better)
	return e
}

// bracket returns the nearest sizes around the break-even at which the difference
// is beyond the intervals; 0 and 0 if one of them is missing.
func (c *Curve) bracket(factor, at float64) (low, high float64) {
	for _, p := range c.Pairs {
		if !p.SpeedUp.times(factor).Clear() {
			continue
		}
		if p.Length <= at {
			low = p.Length
		} else if high == 0 {
			high = p.Length
		}
	}
	if low == 0 || high == 0 {
		return 0, 0
	}
	return low, high
}

// describe returns the result as a sentence without a full stop.
func (e *BreakEven) describe(base, other, better string) string {
	above, below := other, base
	if e.Above == "base" {
		above, below = base, other
	}
	switch {
	case len(e.At) > 1:
		return fmt.Sprintf("several: the %s side changes %d times between %s and %s", better, len(e.At), digits(e.From),
			digits(e.To))
	case len(e.At) == 1:
		text := fmt.Sprintf("%s: above it %s is %s, below it %s", digits(e.At[0]), above, better, below)
		if e.Low == 0 {
			return text + " (without an interval: the repeats around it are too few or too scattered)"
		}
		return text + fmt.Sprintf(" (certainly between the measured sizes %s and %s)", digits(e.Low), digits(e.High))
	case e.From == e.To:
		return fmt.Sprintf("only one size was measured, %s: %s is %s there", digits(e.From), above, better)
	}
	text := fmt.Sprintf("none in the measured range, %s to %s: %s is %s everywhere", digits(e.From), digits(e.To),
		above, better)
	if e.Extrapolated > 0 {
		text += fmt.Sprintf(" (extrapolated, not measured: the fitted curves would meet near %s)",
			digits(e.Extrapolated))
	}
	return text
}

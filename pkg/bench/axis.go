package bench

import (
	"math"
	"strconv"
)

// axis is a logarithmic scale from low to high, drawn from one pixel to another.
type axis struct {
	low, high float64
	from, to  float64
}

// axisOver returns an axis that covers the positive values with a margin at both ends. A single
// value gets a factor of two on each side.
func axisOver(values []float64, from, to float64) axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high { // no value
		low, high = 1, 1
	}
	margin := max(math.Pow(high/low, 0.06), 1.05)
	if high/low < 2 {
		margin = 2
	}
	return axis{low / margin, high * margin, from, to}
}

// at returns the pixel of a value.
func (a axis) at(v float64) float64 {
	part := (math.Log(v) - math.Log(a.low)) / (math.Log(a.high) - math.Log(a.low))
	return a.from + part*(a.to-a.from)
}

// ticks returns round values: 1, 2 and 5 times powers of ten over a short range,
// or else every power of ten, every second one, and so on.
func (a axis) ticks() []float64 {
	decades := math.Log10(a.high / a.low)
	steps, stride := []float64{1}, max(int(math.Ceil(decades/6)), 1)
	switch {
	case decades < 0.7:
		steps = []float64{1, 1.5, 2, 3, 4, 5, 6, 8}
	case decades < 2.2:
		steps = []float64{1, 2, 5}
	}
	var all []float64
	for power := int(math.Floor(math.Log10(a.low))); power <= int(math.Ceil(math.Log10(a.high))); power++ {
		if power%stride != 0 {
			continue
		}
		for _, step := range steps {
			if v := step * math.Pow10(power); v >= a.low && v <= a.high {
				all = append(all, v)
			}
		}
	}
	return all
}

// tick formats a value beside an axis.
func tick(v float64) string {
	if v >= 1e6 || v < 1e-4 {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// px formats a length in pixels, rounded to a tenth.
func px(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

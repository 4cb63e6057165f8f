package heatmap

import (
	"image/color"
	"math"

	"github.com/batchctl/batchctl/pkg/draw"
)

// scale gives numbers colours. It is an axis to shares from 0 to 1.
type scale struct{ draw.Axis }

// newScale returns the scale for numbers from low to high; low > high means that there are no numbers.
func newScale(low, high float64) scale { return scale{draw.Axis{Low: low, High: high, To: 1}} }

func (s scale) empty() bool { return s.Low > s.High }

// colour returns the colour of a number.
func (s scale) colour(v float64) color.RGBA { return draw.Shade(s.At(v)) }

// numbers writes the values of a grid so that they can be compared: all with the same
// decimals where their sizes are near each other, and else each with three digits.
// The text of none is "".
func numbers(g *grid) []string {
	texts := make([]string, len(g.values))
	decimals, same := g.decimals()
	for i, v := range g.values {
		switch {
		case math.IsNaN(v):
		case same:
			texts[i] = draw.Decimals(v, decimals)
		default:
			texts[i] = draw.Digits(v, 3)
		}
	}
	return texts
}

// decimals finds how many decimals show three digits of the largest number, and two of
// the differences. ok is false where some number would lose all its digits.
func (g *grid) decimals() (n int, ok bool) {
	small, large, whole := math.Inf(1), 0.0, true
	for _, v := range g.values {
		if math.IsNaN(v) || v == 0 {
			continue
		}
		small, large = min(small, math.Abs(v)), max(large, math.Abs(v))
		whole = whole && v == math.Trunc(v)
	}
	switch {
	case large == 0 || whole && large < 1e6:
		return 0, true
	case large >= 1e6 || large < 1e-4:
		return 0, false
	}
	n = max(2-exponent(large), 0)
	if d := g.scale.High - g.scale.Low; d > 0 {
		n = max(n, min(1-exponent(d), n+3))
	}
	return n, small >= 0.5*math.Pow10(-n)
}

// exponent is the power of ten of a number's first digit.
func exponent(v float64) int { return int(math.Floor(math.Log10(v))) }

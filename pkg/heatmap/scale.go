package heatmap

import (
	"image/color"
	"math"
	"strconv"
	"strings"

	"github.com/lucasb-eyer/go-colorful"
)

// controls are the colours that the scale goes through, dark to light. Their hues stay
// apart for the usual kinds of colour blindness. In between, lightness grows evenly
// with the value, so a print in grey shows the same order and the same distances.
var controls = []color.RGBA{
	{0x44, 0x01, 0x54, 0xff},
	{0x3b, 0x52, 0x8b, 0xff},
	{0x21, 0x91, 0x8c, 0xff},
	{0x5e, 0xc9, 0x62, 0xff},
	{0xfd, 0xe7, 0x25, 0xff},
}

// shades is the number of different colours on the scale.
const shades = 256

// scale gives numbers colours.
type scale struct {
	low, high float64 // low > high: there are no numbers
	colours   []color.RGBA
}

// newScale returns the scale for numbers from low to high.
func newScale(low, high float64) scale {
	s := scale{low: low, high: high}
	lightness := func(c colorful.Color) float64 { l, _, _ := c.Lab(); return l }
	var marks []colorful.Color
	for _, c := range controls {
		mark, _ := colorful.MakeColor(c) // false only for transparent colours
		marks = append(marks, mark)
	}
	darkest, lightest := lightness(marks[0]), lightness(marks[len(marks)-1])
	for i := range shades {
		want := darkest + (lightest-darkest)*float64(i)/(shades-1)
		for len(marks) > 2 && lightness(marks[1]) < want {
			marks = marks[1:]
		}
		from, to := lightness(marks[0]), lightness(marks[1])
		r, g, b := marks[0].BlendLab(marks[1], (want-from)/(to-from)).Clamped().RGB255()
		s.colours = append(s.colours, color.RGBA{r, g, b, 0xff})
	}
	return s
}

func (s scale) empty() bool { return s.low > s.high }

// part is where v lies between the lowest and the highest number, 0 to 1; in the
// middle if they are the same.
func (s scale) part(v float64) float64 {
	if s.low >= s.high {
		return 0.5
	}
	return min(max((v/2-s.low/2)/(s.high/2-s.low/2), 0), 1) // halves: the difference may be too large
}

// colour returns the colour of a number.
func (s scale) colour(v float64) color.RGBA {
	return s.colours[int(math.Round(s.part(v)*(shades-1)))]
}

// ink is black or white, what is read better on c. The weights are those of relative
// luminance; half of it is about where both have the same contrast with colours on
// the scale.
func ink(c color.RGBA) color.RGBA {
	linear := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }
	if 0.2126*linear(c.R)+0.7152*linear(c.G)+0.0722*linear(c.B) > 0.18 {
		return color.RGBA{A: 0xff}
	}
	return color.RGBA{0xff, 0xff, 0xff, 0xff}
}

// tick is a number beside the scale.
type tick struct {
	value float64
	label string
}

// ticks are about n round numbers on the scale, or the lowest and the highest number if round
// ones cannot distinguish them.
func (s scale) ticks(n int) []tick {
	switch step := roundStep((s.high - s.low) / float64(n)); {
	case s.empty():
		return nil
	case s.low == s.high:
		return []tick{{s.low, plain(s.low)}}
	case step > 1e-10*max(math.Abs(s.low), math.Abs(s.high)) && !math.IsInf(s.high-s.low, 0):
		if all := s.round(step); len(all) > 1 {
			return all
		}
	}
	low, high := plain(s.low), plain(s.high)
	if low == high {
		low, high = strconv.FormatFloat(s.low, 'g', -1, 64), strconv.FormatFloat(s.high, 'g', -1, 64)
	}
	return []tick{{s.low, low}, {s.high, high}}
}

// round are the multiples of step on the scale.
func (s scale) round(step float64) (all []tick) {
	decimals := -int(math.Floor(math.Log10(step) + 1e-9))
	short := decimals <= 6 && max(math.Abs(s.low), math.Abs(s.high)) < 1e6
	for i := math.Ceil(s.low/step - 1e-9); i <= math.Floor(s.high/step+1e-9); i++ {
		v := i * step
		label := tidy(strconv.FormatFloat(v, 'g', 12, 64))
		if short {
			label = strconv.FormatFloat(v, 'f', max(decimals, 0), 64)
		}
		all = append(all, tick{v, unsigned(label)})
	}
	return all
}

// roundStep is the least of 1, 2 and 5 times a power of ten that is not below step.
func roundStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= step*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// plain is a number with as many digits as it needs, six at most.
func plain(v float64) string {
	return unsigned(tidy(strconv.FormatFloat(v, 'g', 6, 64)))
}

// tidy writes an exponent without the zero and the sign that say nothing: 1e-5, 1e6.
func tidy(text string) string {
	return strings.NewReplacer("e-0", "e-", "e+0", "e", "e+", "e").Replace(text)
}

// unsigned is a number that is not called minus zero.
func unsigned(text string) string {
	if bare := strings.TrimPrefix(text, "-"); strings.Trim(bare, "0.") == "" {
		return bare
	}
	return text
}

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
			texts[i] = unsigned(strconv.FormatFloat(v, 'f', decimals, 64))
		default:
			texts[i] = tidy(strconv.FormatFloat(v, 'g', 3, 64))
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
	if d := g.scale.high - g.scale.low; d > 0 {
		n = max(n, min(1-exponent(d), n+3))
	}
	return n, small >= 0.5*math.Pow10(-n)
}

// exponent is the power of ten of a number's first digit.
func exponent(v float64) int { return int(math.Floor(math.Log10(v))) }

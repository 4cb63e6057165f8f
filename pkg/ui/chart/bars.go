package chart

import (
	"math"
	"strings"
)

// Bar is a value with an optional error bar.
type Bar struct {
	Name  string
	Value float64
	// Low and High are the ends of the error bar, both 0 for none.
	Low, High float64
	Class     string
	// Text is at the end of the bar. It is the value if it is empty.
	Text string
}

// BarGroup is bars with a heading.
type BarGroup struct {
	Name string
	Bars []Bar
}

// Bars is a chart of horizontal bars. Its axis is logarithmic if the largest value is more than 50 times the smallest.
type Bars struct {
	ID, Title, Unit string
	Groups          []BarGroup
	// Width is in pixels; 0 selects 640. The height depends on the bars.
	Width int
}

// logRatio is the ratio of the largest to the smallest value from which the axis is logarithmic.
const logRatio = 50

// valueScale maps values to the share of the axis that they take.
type valueScale struct {
	isLog bool
	// first and last are the ends of the axis; step is the distance of ticks, in decades if the axis is logarithmic.
	first, last, step float64
}

// SVG draws the chart.
func (b Bars) SVG() string {
	const thick, gap = 14.0, 10.0
	d := newDrawing(b.ID)
	width := bounded(b.Width, 640, 200)
	left, right := 0.0, 0.0
	for _, g := range b.Groups {
		for _, bar := range g.Bars {
			left, right = max(left, textWidth(bar.Name)+10), max(right, textWidth(bar.text())+16)
		}
	}
	if left == 0 {
		d.text(width/2, 16, "middle", "label", "no data")
		return d.svg(width, 24, b.Title, "No data.")
	}
	// Names that do not fit beside the bars go above them: clipped names can look alike.
	pitch, nameHeight := 24.0, 0.0
	if left > width*0.35 {
		left, pitch, nameHeight = 0, 40, 16
	}
	right = width - max(min(right, width*0.35), 20)
	scale := b.scale(int((right - left) / 70))
	x := func(v float64) float64 { return left + scale.share(v)*(right-left) }

	y := 0.0
	var desc strings.Builder
	for i, g := range b.Groups {
		if i > 0 {
			y += gap
		}
		if g.Name != "" {
			d.text(0, y+13, "start", "label heading", clip(g.Name, width))
			y += 24
			desc.WriteString(g.Name + ": ")
		}
		for _, v := range scale.ticks() {
			d.line("grid", x(v), y, x(v), y+pitch*float64(len(g.Bars)))
		}
		d.line("axis", left, y, left, y+pitch*float64(len(g.Bars)))
		for _, bar := range g.Bars {
			d.open("g")
			d.element("title", bar.describe(b.Unit))
			if nameHeight > 0 {
				d.text(6, y+nameHeight-2, "start", "label", clip(bar.Name, width-6))
			} else {
				d.text(left-10, y+pitch/2+4, "end", "label", bar.Name)
			}
			end, middle := left, y+nameHeight+(pitch-nameHeight)/2
			if v := amount(bar.Value); !math.IsNaN(v) {
				end = x(v)
				d.shape("path", "class", "bar "+bar.Class, "d", rectangle(left, middle-thick/2, end-left, thick))
			}
			if bar.hasError() {
				low, high := x(amount(bar.Low)), x(amount(bar.High))
				d.line("error", low, middle, high, middle)
				d.line("error", low, middle-3, low, middle+3)
				d.line("error", high, middle-3, high, middle+3)
				end = max(end, high)
			}
			d.text(end+6, middle+4, "start", "label", clip(bar.text(), width-end-6))
			d.close("g")
			desc.WriteString(bar.describe(b.Unit) + ". ")
			y += pitch
		}
	}
	bottom, free := max(y, pitch), 0.0
	for _, v := range scale.ticks() {
		half := textWidth(quantity(v)) / 2
		if at := min(max(x(v), half), width-half); at-half >= free {
			d.text(at, bottom+16, "middle", "label", quantity(v))
			free = at + half + 4
		}
	}
	title := b.Unit
	if scale.isLog {
		title = strings.TrimPrefix(title+", logarithmic scale", ", ")
	}
	height := bottom + 24
	if title != "" {
		// Centred on the axis if that keeps it inside the chart.
		title = clip(title, width)
		half := textWidth(title) / 2
		d.text(min(max((left+right)/2, half), width-half), bottom+34, "middle", "label", title)
		height += 16
	}
	return d.svg(width, height, b.Title, strings.TrimSpace(desc.String()))
}

// scale returns the axis for the values and error bars, with at most about most ticks.
func (b Bars) scale(most int) valueScale {
	least, largest, end := math.Inf(1), 0.0, 1e-9
	for _, g := range b.Groups {
		for _, bar := range g.Bars {
			if v := amount(bar.Value); v >= 1e-9 {
				least, largest = min(least, v), max(largest, v)
			}
			end = max(end, largest)
			if bar.hasError() {
				end = max(end, amount(bar.High))
			}
		}
	}
	if largest > logRatio*least {
		// The smallest bar has to be visible.
		first := math.Floor(math.Log10(least / 1.5))
		decades := math.Log10(end) - first
		return valueScale{isLog: true, first: math.Pow(10, first), last: end,
			step: math.Ceil(decades / float64(max(most, 1)))}
	}
	return valueScale{last: end, step: valueStep(end, max(most, 3), false)}
}

// share returns the position of a value on the axis, from 0 to 1.
func (s valueScale) share(v float64) float64 {
	share := v / s.last
	if s.isLog {
		share = math.Log(max(v, s.first)/s.first) / math.Log(s.last/s.first)
	}
	return min(max(share, 0), 1)
}

// ticks returns the values of the ticks.
func (s valueScale) ticks() (values []float64) {
	for i := 0.0; ; i++ {
		v := i * s.step
		if s.isLog {
			v = s.first * math.Pow(10, v)
		}
		if v > s.last*(1+1e-9) {
			return values
		}
		values = append(values, v)
	}
}

// text returns the text at the end of the bar.
func (b Bar) text() string {
	switch {
	case b.Text != "":
		return b.Text
	case math.IsNaN(amount(b.Value)):
		return "–"
	}
	return quantity(b.Value)
}

// hasError reports whether the bar has an error bar that can be drawn.
func (b Bar) hasError() bool {
	low, high := amount(b.Low), amount(b.High)
	return (low != 0 || high != 0) && low <= high // false for NaN
}

// describe returns name, value and error bar as text.
func (b Bar) describe(unit string) string {
	value := "no value"
	if !math.IsNaN(amount(b.Value)) {
		value = withUnit(quantity(b.Value), unit)
	}
	if b.Text != "" {
		value = b.Text
	}
	text := b.Name + " " + value
	if b.hasError() {
		text += " (" + quantity(b.Low) + " to " + quantity(b.High) + ")"
	}
	return text
}

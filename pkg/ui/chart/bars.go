package chart

import (
	"math"
	"strings"

	"github.com/batchctl/batchctl/pkg/draw"
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

// SVG draws the chart.
func (b Bars) SVG() string {
	const thick, gap = 14.0, 10.0
	d := newDrawing(b.ID)
	width := bounded(b.Width, 640, 200)
	left, right := 0.0, 0.0
	for _, g := range b.Groups {
		for _, bar := range g.Bars {
			left, right = max(left, draw.TextWidth(bar.Name)+10), max(right, draw.TextWidth(bar.text())+16)
		}
	}
	if left == 0 {
		d.Text(width/2, 16, "middle", "label", "no data")
		return d.svg(width, 24, b.Title, "No data.")
	}
	// Names that do not fit beside the bars go above them: clipped names can look alike.
	pitch, nameHeight := 24.0, 0.0
	if left > width*0.35 {
		left, pitch, nameHeight = 0, 40, 16
	}
	right = width - max(min(right, width*0.35), 20)
	axis, most := b.axis(left, right), int((right-left)/70)
	x, ticks := axis.At, axis.Ticks(max(most, 3))
	if axis.Log {
		ticks = axis.Ticks(most)
	}

	y := 0.0
	var desc strings.Builder
	for i, g := range b.Groups {
		if i > 0 {
			y += gap
		}
		if g.Name != "" {
			d.Text(0, y+13, "start", "label heading", draw.Clip(g.Name, width))
			y += 24
			desc.WriteString(g.Name + ": ")
		}
		for _, tick := range ticks {
			d.Line("grid", x(tick.Value), y, x(tick.Value), y+pitch*float64(len(g.Bars)))
		}
		d.Line("axis", left, y, left, y+pitch*float64(len(g.Bars)))
		for _, bar := range g.Bars {
			d.Open("g")
			d.Element("title", bar.describe(b.Unit))
			if nameHeight > 0 {
				d.Text(6, y+nameHeight-2, "start", "label", draw.Clip(bar.Name, width-6))
			} else {
				d.Text(left-10, y+pitch/2+4, "end", "label", bar.Name)
			}
			end, middle := left, y+nameHeight+(pitch-nameHeight)/2
			if v := amount(bar.Value); !math.IsNaN(v) {
				end = x(v)
				d.Shape("path", "class", "bar "+bar.Class, "d", draw.Rectangle(left, middle-thick/2, end-left, thick))
			}
			if bar.hasError() {
				low, high := x(amount(bar.Low)), x(amount(bar.High))
				d.Line("error", low, middle, high, middle)
				d.Line("error", low, middle-3, low, middle+3)
				d.Line("error", high, middle-3, high, middle+3)
				end = max(end, high)
			}
			d.Text(end+6, middle+4, "start", "label", draw.Clip(bar.text(), width-end-6))
			d.Close("g")
			desc.WriteString(bar.describe(b.Unit) + ". ")
			y += pitch
		}
	}
	bottom, free := max(y, pitch), 0.0
	for _, tick := range ticks {
		half := draw.TextWidth(tick.Label) / 2
		if at := min(max(x(tick.Value), half), width-half); at-half >= free {
			d.Text(at, bottom+16, "middle", "label", tick.Label)
			free = at + half + 4
		}
	}
	title := b.Unit
	if axis.Log {
		title = strings.TrimPrefix(title+", logarithmic scale", ", ")
	}
	height := bottom + 24
	if title != "" {
		// Centred on the axis if that keeps it inside the chart.
		title = draw.Clip(title, width)
		half := draw.TextWidth(title) / 2
		d.Text(min(max((left+right)/2, half), width-half), bottom+34, "middle", "label", title)
		height += 16
	}
	return d.svg(width, height, b.Title, strings.TrimSpace(desc.String()))
}

// axis returns the axis for the values and error bars.
func (b Bars) axis(left, right float64) draw.Axis {
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
		first := math.Pow(10, math.Floor(math.Log10(least/1.5)))
		return draw.Axis{Low: first, High: end, From: left, To: right, Log: true}
	}
	return draw.Axis{High: end, From: left, To: right}
}

// text returns the text at the end of the bar.
func (b Bar) text() string {
	switch {
	case b.Text != "":
		return b.Text
	case math.IsNaN(amount(b.Value)):
		return "–"
	}
	return draw.Number(b.Value)
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
		value = withUnit(draw.Number(b.Value), unit)
	}
	if b.Text != "" {
		value = b.Text
	}
	text := b.Name + " " + value
	if b.hasError() {
		text += " (" + draw.Number(b.Low) + " to " + draw.Number(b.High) + ")"
	}
	return text
}

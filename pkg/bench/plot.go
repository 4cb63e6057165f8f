package bench

import (
	"fmt"
	"html/template"
	"math"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/draw"
)

// The size of a plot in pixels. It is narrow, so that its letters stay readable on a
// phone, where the page shrinks it to the screen.
const (
	plotWidth  = 440.0
	plotHeight = 270.0
	plotLeft   = 58.0
	plotRight  = plotWidth - 14
	plotTop    = 12.0
	plotBottom = plotHeight - 44
	lineHeight = 17.0
)

// dot is a point of a series. Low and High are its interval, 0 without one.
type dot struct {
	x, y, low, high float64
	tooltip         string
}

// series is a line through points, in the colour of its number.
type series struct {
	name   string
	colour int
	dots   []dot
}

// rule is a straight line across the plot, with its name in the legend.
type rule struct {
	name     string
	value    float64
	vertical bool
	// cost tells a line about costs from one about times.
	cost bool
}

// class returns the CSS class of the line.
func (r rule) class() string {
	if r.cost {
		return "rule cost"
	}
	return "rule"
}

// plot is a picture with two logarithmic axes.
type plot struct {
	label        string
	xName, yName string
	series       []series
	rules        []rule
}

// canvas is a picture in progress. Its colours are those of the page's style. Texts may come from logs.
type canvas struct{ draw.SVG }

// picture returns the picture with a description for screen readers.
func (c *canvas) picture(label string, height float64) template.HTML {
	var s draw.SVG
	s.Open("svg", "xmlns", "http://www.w3.org/2000/svg", "role", "img", "aria-label", diag.Printable(label),
		"viewBox", draw.ViewBox(plotWidth, height))
	s.WriteString(c.String())
	s.Close("svg")
	return template.HTML(s.String()) // draw escapes every text
}

// rect draws a rectangle with a tooltip.
func (c *canvas) rect(class string, x, y, width, height float64, tooltip string) {
	c.Titled(diag.Printable(tooltip), "rect", "class", class, "x", x, "y", y, "width", width, "height", height)
}

// axisOver returns an axis that covers the positive values with a margin at both ends. A single
// value gets a factor of two on each side.
func axisOver(values []float64, from, to float64) draw.Axis {
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
	return draw.Axis{Low: low / margin, High: high * margin, From: from, To: to, Log: true}
}

// draw is the plot as a picture.
func (p *plot) draw() template.HTML {
	var xs, ys []float64
	for _, s := range p.series {
		for _, d := range s.dots {
			xs, ys = append(xs, d.x), append(ys, d.y, d.low, d.high)
		}
	}
	for _, r := range p.rules {
		if r.vertical {
			xs = append(xs, r.value)
		} else {
			ys = append(ys, r.value)
		}
	}
	x, y := axisOver(xs, plotLeft, plotRight), axisOver(ys, plotBottom, plotTop)
	c := &canvas{}
	c.axes(x, y, p)
	for _, r := range p.rules {
		if r.vertical {
			c.Line(r.class(), x.At(r.value), plotTop, x.At(r.value), plotBottom)
		} else {
			c.Line(r.class(), plotLeft, y.At(r.value), plotRight, y.At(r.value))
		}
	}
	for _, s := range p.series {
		c.series(x, y, s)
	}
	return c.picture(p.label, p.legend(c))
}

// axes draws the grid and the names of both axes.
func (c *canvas) axes(x, y draw.Axis, p *plot) {
	const most = 6
	for _, tick := range x.Ticks(most) {
		c.Line("grid", x.At(tick.Value), plotTop, x.At(tick.Value), plotBottom)
		c.Text(x.At(tick.Value), plotBottom+15, "middle", "label", tick.Label)
	}
	for _, tick := range y.Ticks(most) {
		c.Line("grid", plotLeft, y.At(tick.Value), plotRight, y.At(tick.Value))
		c.Text(plotLeft-5, y.At(tick.Value)+4, "end", "label", tick.Label)
	}
	c.Text((plotLeft+plotRight)/2, plotBottom+33, "middle", "", p.xName)
	const left, middle = 12, (plotTop + plotBottom) / 2
	c.Text(left, middle, "middle", "", p.yName, "transform", fmt.Sprintf("rotate(-90 %d %g)", left, middle))
}

// series draws a series: its line, intervals and points.
func (c *canvas) series(x, y draw.Axis, s series) {
	class := seriesClass(s.colour)
	var points []float64
	for _, d := range s.dots {
		points = append(points, x.At(d.x), y.At(d.y))
	}
	if len(s.dots) > 1 {
		c.Shape("path", "class", "line "+class, "d", draw.Path(points...))
	}
	for _, d := range s.dots {
		if d.low > 0 && d.high > 0 {
			c.Line("line "+class, x.At(d.x), y.At(d.low), x.At(d.x), y.At(d.high))
			for _, end := range []float64{d.low, d.high} {
				c.Line("line "+class, x.At(d.x)-3, y.At(end), x.At(d.x)+3, y.At(end))
			}
		}
		c.marker(class, s.colour, x.At(d.x), y.At(d.y), d.tooltip)
	}
}

// marker draws a point. Each colour has its own form, for readers who cannot distinguish
// colours.
func (c *canvas) marker(class string, form int, x, y float64, tooltip string) {
	class, tooltip = "dot "+class, diag.Printable(tooltip)
	switch form % 3 {
	case 0:
		c.Titled(tooltip, "circle", "class", class, "cx", x, "cy", y, "r", 3.6)
	case 1:
		c.rect(class, x-3.3, y-3.3, 6.6, 6.6, tooltip)
	default:
		c.Titled(tooltip, "path", "class", class, "d", draw.Path(x, y-5, x+4.4, y+2.6, x-4.4, y+2.6)+"Z")
	}
}

// seriesClass returns the class of a series in the page's style.
func seriesClass(colour int) string { return fmt.Sprintf("c%d", colour%draw.Series) }

// legend names the series and rules below the plot, and returns the picture's height.
func (p *plot) legend(c *canvas) float64 {
	y := plotHeight + 6
	entry := func(name string) {
		c.Text(plotLeft+24, y+4, "start", "", draw.Clip(diag.Printable(name), plotRight-plotLeft-24))
		y += lineHeight
	}
	for _, s := range p.series {
		if s.name == "" {
			continue
		}
		c.marker(seriesClass(s.colour), s.colour, plotLeft+9, y, "")
		entry(s.name)
	}
	for _, r := range p.rules {
		c.Line(r.class(), plotLeft, y, plotLeft+18, y)
		entry(r.name)
	}
	return y
}

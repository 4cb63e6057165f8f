package bench

import (
	"fmt"
	"strings"
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
	// seriesColours is how many colours the style has.
	seriesColours = 6
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

// picture is a drawing before it is written as SVG. Its colours are those of the page's style.
type picture struct {
	// Label describes the picture, for screen readers.
	Label         string
	Width, Height float64
	Shapes        []element
}

// element is an element of a picture: a line, polyline, text, upright (a text read upwards),
// circle, triangle or rect. Lengths are in pixels.
type element struct {
	Form, Class string
	X, Y        float64
	// X2 and Y2 are the other end of a line, Width and Height the size of a rect.
	X2, Y2, Width, Height float64
	// Points are the corners of a polyline.
	Points string
	Text   string
	// Tooltip is the text that a pointer over the shape shows.
	Tooltip string
}

// canvas collects shapes.
type canvas struct{ shapes []element }

// add adds a shape.
func (c *canvas) add(s element) { c.shapes = append(c.shapes, s) }

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.add(element{Form: "line", Class: class, X: x1, Y: y1, X2: x2, Y2: y2})
}

func (c *canvas) text(class string, x, y float64, text string) {
	c.add(element{Form: "text", Class: class, X: x, Y: y, Text: text})
}

func (c *canvas) rect(class string, x, y, width, height float64, tooltip string) {
	c.add(element{Form: "rect", Class: class, X: x, Y: y, Width: width, Height: height, Tooltip: tooltip})
}

// draw is the plot as a picture.
func (p *plot) draw() picture {
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
			c.line(r.class(), x.at(r.value), plotTop, x.at(r.value), plotBottom)
		} else {
			c.line(r.class(), plotLeft, y.at(r.value), plotRight, y.at(r.value))
		}
	}
	for _, s := range p.series {
		c.series(x, y, s)
	}
	height := p.legend(c)
	return picture{p.label, plotWidth, height, c.shapes}
}

// axes draws the grid and the names of both axes.
func (c *canvas) axes(x, y axis, p *plot) {
	for _, v := range x.ticks() {
		c.line("grid", x.at(v), plotTop, x.at(v), plotBottom)
		c.text("tick middle", x.at(v), plotBottom+15, tick(v))
	}
	for _, v := range y.ticks() {
		c.line("grid", plotLeft, y.at(v), plotRight, y.at(v))
		c.text("tick end", plotLeft-5, y.at(v)+4, tick(v))
	}
	c.text("name middle", (plotLeft+plotRight)/2, plotBottom+33, p.xName)
	c.add(element{Form: "upright", Class: "name middle", X: 12, Y: (plotTop + plotBottom) / 2, Text: p.yName})
}

// polyline draws the line through the points of a series.
func (c *canvas) polyline(class string, x, y axis, dots []dot) {
	points := make([]string, len(dots))
	for i, d := range dots {
		points[i] = px(x.at(d.x)) + "," + px(y.at(d.y))
	}
	c.add(element{Form: "polyline", Class: class, Points: strings.Join(points, " ")})
}

// series draws a series: its line, intervals and points.
func (c *canvas) series(x, y axis, s series) {
	class := fmt.Sprintf("c%d", s.colour%seriesColours)
	if len(s.dots) > 1 {
		c.polyline("line "+class, x, y, s.dots)
	}
	for _, d := range s.dots {
		if d.low > 0 && d.high > 0 {
			c.line("line "+class, x.at(d.x), y.at(d.low), x.at(d.x), y.at(d.high))
			for _, end := range []float64{d.low, d.high} {
				c.line("line "+class, x.at(d.x)-3, y.at(end), x.at(d.x)+3, y.at(end))
			}
		}
		c.marker(class, s.colour, x.at(d.x), y.at(d.y), d.tooltip)
	}
}

// marker draws a point. Each colour has its own form, for readers who cannot distinguish
// colours.
func (c *canvas) marker(class string, form int, x, y float64, tooltip string) {
	class = "dot " + class
	switch form % 3 {
	case 0:
		c.add(element{Form: "circle", Class: class, X: x, Y: y, Tooltip: tooltip})
	case 1:
		c.rect(class, x-3.3, y-3.3, 6.6, 6.6, tooltip)
	default:
		c.add(element{Form: "triangle", Class: class, X: x, Y: y - 5, Tooltip: tooltip})
	}
}

// legend names the series and rules below the plot, and returns the picture's height.
func (p *plot) legend(c *canvas) float64 {
	y := plotHeight + 6
	entry := func(name string) {
		c.text("key", plotLeft+24, y+4, display.Truncate(printable(name), 58, "…"))
		y += lineHeight
	}
	for _, s := range p.series {
		if s.name == "" {
			continue
		}
		c.marker(fmt.Sprintf("c%d", s.colour%seriesColours), s.colour, plotLeft+9, y, "")
		entry(s.name)
	}
	for _, r := range p.rules {
		c.line(r.class(), plotLeft, y, plotLeft+18, y)
		entry(r.name)
	}
	return y
}

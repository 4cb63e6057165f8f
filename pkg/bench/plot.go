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
	says            string
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

// canvas collects elements.
type canvas struct{ strings.Builder }

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.printf(`<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, px(x1), px(y1), px(x2), px(y2))
}

func (c *canvas) text(class string, x, y float64, text string) {
	c.printf(`<text class="%s" x="%s" y="%s">%s</text>`+"\n", class, px(x), px(y), escape(text))
}

// svg is the picture, complete. Its colours are those of the page's style.
func (p *plot) svg() string {
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
	return picture(p.label, height, c.String())
}

func picture(label string, height float64, body string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="%s" viewBox="0 0 %s %s">`+"\n%s</svg>\n",
		escape(label), px(plotWidth), px(height), body)
}

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
	c.printf(`<text class="name middle" transform="translate(12 %s) rotate(-90)">%s</text>`+"\n", px((plotTop+plotBottom)/2), escape(p.yName))
}

func (c *canvas) polyline(class string, x, y axis, dots []dot) {
	points := make([]string, len(dots))
	for i, d := range dots {
		points[i] = px(x.at(d.x)) + "," + px(y.at(d.y))
	}
	c.printf(`<polyline class="%s" points="%s"/>`+"\n", class, strings.Join(points, " "))
}

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
		c.marker(class, s.colour, x.at(d.x), y.at(d.y), d.says)
	}
}

// marker draws a point. Its form differs with the colour, for those who do not see
// colours apart.
func (c *canvas) marker(class string, form int, x, y float64, says string) {
	title := ""
	if says != "" {
		title = "<title>" + escape(says) + "</title>"
	}
	switch form % 3 {
	case 0:
		c.printf(`<circle class="dot %s" cx="%s" cy="%s" r="3.6">%s</circle>`+"\n", class, px(x), px(y), title)
	case 1:
		c.printf(`<rect class="dot %s" x="%s" y="%s" width="6.6" height="6.6">%s</rect>`+"\n", class, px(x-3.3), px(y-3.3), title)
	default:
		c.printf(`<path class="dot %s" d="M%s %sl4.4 7.6h-8.8z">%s</path>`+"\n", class, px(x), px(y-5), title)
	}
}

// legend names the series and rules below the plot, and returns the picture's height.
func (p *plot) legend(c *canvas) float64 {
	y := plotHeight
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

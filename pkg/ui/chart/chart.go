// Package chart draws charts as SVG fragments for HTML pages.
//
// A fragment has no style elements or attributes, so that a page whose Content-Security-Policy forbids inline
// styles can contain it. It has a viewBox but no size (except Spark), so it fills the width of its container.
// A chart has its intended text size in a container as wide as the chart's Width.
// Colours come from the style sheet of the page, which sets fill or stroke of these classes:
//
//	chart                    the svg element; text uses its font family
//	label                    text of 12 pixels (fill)
//	heading                  a label that names a group (font weight)
//	inside                   a label on a span or area (fill, and stroke for the halo around the letters)
//	grid, axis, error        grid lines, axis lines, error bars (stroke)
//	limit                    the limit line (stroke)
//	hatch                    the lines that tell areas apart without colour (stroke)
//	area, line, dot          the series of Area and Spark (fill; stroke for line)
//	span, bar                the spans of Timeline and the bars of Bars (fill)
//
// Areas, spans and bars also have the class that the caller gives them, such as "s-running".
//
// IDs that callers supply must be unique in the page. Characters of an ID other than letters, digits, - and _
// become _. Charts accept any text and any number; they show values that are not finite as gaps.
package chart

import (
	"math"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/draw"
)

// Rules is the style sheet of a file with charts, as draw.Sheet reads it.
const Rules = `.chart{font-family:sans-serif}
.ground{fill:$ground}
.label{fill:$soft}
.heading{fill:$ink;font-weight:bold}
.inside{fill:$ink;stroke:$ground}
.grid{stroke:$rule}
.axis{stroke:$line}
.error{stroke:$ink}
.limit{stroke:$FAILED}
.hatch{stroke:$ground;stroke-opacity:.4}
.bar{fill:$c0}
.area.s-low{fill:$low}
.area.s-median{fill:$median}
.area.s-high{fill:$high}
`

// drawing is an SVG fragment in progress. Coordinates are pixels.
type drawing struct {
	draw.SVG
	id string
}

// newDrawing starts a fragment. Elements that need an id derive it from id.
func newDrawing(id string) *drawing {
	return &drawing{id: strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)}
}

// svg returns the fragment. Extra are more attributes of its svg element, in pairs.
func (d *drawing) svg(width, height float64, title, desc string, extra ...any) string {
	var s draw.SVG
	s.Open("svg", append([]any{"class", "chart", "role", "img", "viewBox", draw.ViewBox(width, height),
		"aria-labelledby", d.id + "-title " + d.id + "-desc", "font-size", 12.0}, extra...)...)
	s.Element("title", title, "id", d.id+"-title")
	s.Element("desc", desc, "id", d.id+"-desc")
	s.WriteString(d.String())
	s.Close("svg")
	return s.String()
}

// inside writes a label with a halo, on top of other shapes.
func (d *drawing) inside(x, y float64, anchor, text string) {
	d.Text(x, y, anchor, "label inside", text, "paint-order", "stroke", "stroke-width", 3.0, "stroke-linejoin", "round")
}

// hatches defines the pattern for each of n series. The first series has none.
func (d *drawing) hatches(n int) {
	d.Open("defs")
	for i := 1; i < n; i++ {
		// Series after the last kind repeat the kinds with wider gaps.
		kind, scale := hatchKinds[i%len(hatchKinds)], 1+0.6*float64(i/len(hatchKinds))
		d.Open("pattern", "id", d.hatch(i), "width", 6.0, "height", 6.0, "patternUnits", "userSpaceOnUse",
			"patternTransform", "rotate("+draw.Num(kind.angle)+") scale("+draw.Num(scale)+")")
		d.Shape("path", "class", "hatch", "d", kind.shape, "fill", "none", "stroke-linecap", "round", "stroke-width",
			kind.width)
		d.Close("pattern")
	}
	d.Close("defs")
}

// hatchKinds are the patterns, squares of 6 pixels, in the order of their use.
var hatchKinds = []struct {
	angle, width float64
	shape        string
}{
	{90, 1, "M3,0 3,6"}, {45, 1, "M3,0 3,6"}, {0, 2, "M3,3 3.1,3"}, {-45, 1, "M3,0 3,6"},
	{0, 1, "M3,0 3,6"}, {45, 1, "M3,0 3,6M0,3 6,3"}, {20, 2, "M3,0 3,6"}, {0, 1, "M3,0 3,6M0,3 6,3"},
}

// hatch returns the id of the pattern of series i.
func (d *drawing) hatch(i int) string { return d.id + "-h" + strconv.Itoa(i) }

// filled draws a shape with the class of series i and its hatch.
func (d *drawing) filled(i int, class, shape string) {
	d.Shape("path", "class", class, "d", shape)
	if i > 0 {
		d.Shape("path", "d", shape, "fill", "url(#"+d.hatch(i)+")")
	}
}

// key is an entry of a legend. One without a class is a heading without a swatch.
type key struct{ name, class string }

// legend draws the entries in rows and returns the height of all rows. The swatch of an entry has the hatch of
// its series: entries count from series 0.
func (d *drawing) legend(width float64, keys []key) float64 {
	const row, swatch, gap = 20.0, 12.0, 16.0
	x, y, series := 0.0, 0.0, 0
	for _, k := range keys {
		mark := 0.0
		if k.class != "" {
			mark = swatch + 5
		}
		name := draw.Clip(k.name, width-mark)
		if x > 0 && x+mark+draw.TextWidth(name) > width {
			x, y = 0, y+row
		}
		if k.class != "" {
			d.filled(series, k.class, draw.Rectangle(x, y+1, swatch, swatch))
			series++
		}
		d.Text(x+mark, y+11, "start", "label", name)
		x += mark + draw.TextWidth(name) + gap
	}
	if len(keys) == 0 {
		return 0
	}
	return y + row
}

// withUnit appends a unit, if any.
func withUnit(text, unit string) string { return strings.TrimSpace(text + " " + unit) }

// amount returns a value that a chart can draw: NaN for one that is not finite, and the nearest of 0 and most
// for others.
func amount(v float64) float64 {
	const most = 1e20
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return math.NaN()
	}
	return min(max(v, 0), most)
}

// bounded returns a size within limits, or the usual size for 0.
func bounded(size, usual, least int) float64 {
	if size == 0 {
		size = usual
	}
	return float64(min(max(size, least), 4096))
}

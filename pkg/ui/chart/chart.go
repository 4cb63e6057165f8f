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
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// drawing is an SVG fragment in progress. Coordinates are pixels.
type drawing struct {
	id   string
	body strings.Builder
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
	s := &drawing{id: d.id}
	s.open("svg", append([]any{"class", "chart", "role", "img", "viewBox", "0 0 " + num(width) + " " + num(height),
		"aria-labelledby", d.id + "-title " + d.id + "-desc", "font-size", 12.0}, extra...)...)
	s.element("title", title, "id", d.id+"-title")
	s.element("desc", desc, "id", d.id+"-desc")
	s.body.WriteString(d.body.String())
	s.close("svg")
	return s.body.String()
}

// tag writes a tag that ends with end, > or />. Attributes are pairs of a name and a string or float64.
func (d *drawing) tag(end, name string, attributes ...any) {
	d.body.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		value, isText := attributes[i+1].(string)
		if !isText {
			value = num(attributes[i+1].(float64))
		}
		d.body.WriteString(" " + attributes[i].(string) + `="` + escape(value) + `"`)
	}
	d.body.WriteString(end)
}

func (d *drawing) open(name string, attributes ...any) { d.tag(">", name, attributes...) }

func (d *drawing) close(name string) { d.body.WriteString("</" + name + ">") }

// shape writes an element without content.
func (d *drawing) shape(name string, attributes ...any) { d.tag("/>", name, attributes...) }

// element writes an element that contains only text.
func (d *drawing) element(name, text string, attributes ...any) {
	d.open(name, attributes...)
	d.body.WriteString(escape(text))
	d.close(name)
}

// text writes a label whose baseline is at y. Anchor is start, middle or end.
func (d *drawing) text(x, y float64, anchor, class, text string) {
	d.element("text", text, "class", class, "x", x, "y", y, "text-anchor", anchor)
}

// inside writes a label with a halo, on top of other shapes.
func (d *drawing) inside(x, y float64, anchor, text string) {
	d.element("text", text, "class", "label inside", "x", x, "y", y, "text-anchor", anchor,
		"paint-order", "stroke", "stroke-width", 3.0, "stroke-linejoin", "round")
}

// line draws a line with a width of 1 pixel.
func (d *drawing) line(class string, x1, y1, x2, y2 float64, extra ...any) {
	d.shape("path", append([]any{"class", class, "d", path(x1, y1, x2, y2), "fill", "none"}, extra...)...)
}

// hatches defines the pattern for each of n series. The first series has none.
func (d *drawing) hatches(n int) {
	d.open("defs")
	for i := 1; i < n; i++ {
		// Series after the last kind repeat the kinds with wider gaps.
		kind, scale := hatchKinds[i%len(hatchKinds)], 1+0.6*float64(i/len(hatchKinds))
		d.open("pattern", "id", d.hatch(i), "width", 6.0, "height", 6.0, "patternUnits", "userSpaceOnUse",
			"patternTransform", "rotate("+num(kind.angle)+") scale("+num(scale)+")")
		d.shape("path", "class", "hatch", "d", kind.shape, "fill", "none", "stroke-linecap", "round", "stroke-width",
			kind.width)
		d.close("pattern")
	}
	d.close("defs")
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
	d.shape("path", "class", class, "d", shape)
	if i > 0 {
		d.shape("path", "d", shape, "fill", "url(#"+d.hatch(i)+")")
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
		name := clip(k.name, width-mark)
		if x > 0 && x+mark+textWidth(name) > width {
			x, y = 0, y+row
		}
		if k.class != "" {
			d.filled(series, k.class, rectangle(x, y+1, swatch, swatch))
			series++
		}
		d.text(x+mark, y+11, "start", "label", name)
		x += mark + textWidth(name) + gap
	}
	if len(keys) == 0 {
		return 0
	}
	return y + row
}

// path returns path data that connects points, given as x and y in turn.
func path(points ...float64) string {
	var b strings.Builder
	for i := 0; i+1 < len(points); i += 2 {
		b.WriteString([...]string{"M", " "}[min(i, 1)] + num(points[i]) + "," + num(points[i+1]))
	}
	return b.String()
}

func rectangle(x, y, width, height float64) string {
	return path(x, y, x+width, y, x+width, y+height, x, y+height) + "Z"
}

// num formats a coordinate with at most one decimal.
func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) // +0 turns -0 into 0
}

// escape returns text as XML text or attribute value. Characters that XML forbids and those that change the
// direction of text become U+FFFD.
func escape(text string) string {
	var b strings.Builder
	// A strings.Builder returns no errors.
	_ = xml.EscapeText(&b, []byte(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)))
	return b.String()
}

// wideFont is how much wider the widest common sans-serif font is than the widths in textWidth.
const wideFont = 1.09

// textWidth returns about how wide a text of 12 pixels is in a sans-serif font, rather too wide than too narrow.
func textWidth(text string) float64 {
	width := 0.0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) && !unicode.Is(unicode.Bidi_Control, r):
		case r >= 0x1100 && r != unicode.ReplacementChar && !(r >= 0x2010 &&
			r <= 0x2027): // mostly East Asian and emoji
			width += 13
		case strings.ContainsRune(" .,:;!|'`ijltfrI()[]/\\", r):
			width += 4.5
		case strings.ContainsRune("mwMW@%—", r):
			width += 11.5
		case unicode.IsUpper(r):
			width += 8.7
		default:
			width += 7.2
		}
	}
	return width * wideFont
}

// clip returns the start of a text that fits the width, with an ellipsis if it is not the whole text.
func clip(text string, width float64) string {
	if textWidth(text) <= width {
		return text
	}
	used, end := textWidth("…"), 0
	for i, r := range text {
		if used += textWidth(string(r)); used > width {
			break
		}
		end = i + len(string(r))
	}
	return strings.TrimRight(text[:min(end, len(text))], " ") + "…"
}

// quantity formats a value with three significant digits and an SI prefix, such as 1.5k.
func quantity(v float64) string {
	prefixes := [...]string{"", "k", "M", "G", "T", "P", "E"}
	i := 0
	for ; math.Abs(v) >= 999.5 && i < len(prefixes)-1; i++ {
		v /= 1000
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + prefixes[i]
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

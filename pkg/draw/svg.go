// Package draw has what all pictures share: the elements of SVG, axes with round ticks, one palette, and a canvas that
// becomes SVG or PNG. It does no I/O.
package draw

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// SVG is the text of an SVG in progress. Lengths are pixels. Any text becomes valid XML, and each element has a line.
type SVG struct{ strings.Builder }

// tag writes a tag that ends with end, > or />. Attributes are pairs of a name and a string or float64; those with an
// empty string are left out.
func (s *SVG) tag(end, name string, attributes []any) {
	s.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		value, isText := attributes[i+1].(string)
		if !isText {
			value = Num(attributes[i+1].(float64))
		}
		if value != "" {
			s.WriteString(" " + attributes[i].(string) + `="` + escape(value) + `"`)
		}
	}
	s.WriteString(end)
}

// Open begins an element that contains others.
func (s *SVG) Open(name string, attributes ...any) { s.tag(">\n", name, attributes) }

// Close ends an element.
func (s *SVG) Close(name string) { s.WriteString("</" + name + ">\n") }

// Shape writes an element without content.
func (s *SVG) Shape(name string, attributes ...any) { s.tag("/>\n", name, attributes) }

// Element writes an element that contains only text.
func (s *SVG) Element(name, text string, attributes ...any) {
	s.tag(">", name, attributes)
	s.WriteString(escape(text))
	s.Close(name)
}

// Titled writes a shape with a tooltip; none if that is empty.
func (s *SVG) Titled(tooltip, name string, attributes ...any) {
	if tooltip == "" {
		s.Shape(name, attributes...)
		return
	}
	s.Open(name, attributes...)
	s.Element("title", tooltip)
	s.Close(name)
}

// Text writes a label whose baseline is at y. Anchor is start, middle or end.
func (s *SVG) Text(x, y float64, anchor, class, text string, more ...any) {
	s.Element("text", text, append([]any{"class", class, "x", x, "y", y, "text-anchor", anchor}, more...)...)
}

// Line draws a line with a width of 1 pixel.
func (s *SVG) Line(class string, x1, y1, x2, y2 float64, more ...any) {
	s.Shape("path", append([]any{"class", class, "d", Path(x1, y1, x2, y2), "fill", "none"}, more...)...)
}

// Path returns path data that connects points, given as x and y in turn.
func Path(points ...float64) string {
	var b strings.Builder
	for i := 0; i+1 < len(points); i += 2 {
		b.WriteString([...]string{"M", " "}[min(i, 1)] + Num(points[i]) + "," + Num(points[i+1]))
	}
	return b.String()
}

// Rectangle returns the path data of a rectangle.
func Rectangle(x, y, width, height float64) string {
	return Path(x, y, x+width, y, x+width, y+height, x, y+height) + "Z"
}

// ViewBox returns the viewBox of a picture.
func ViewBox(width, height float64) string { return "0 0 " + Num(width) + " " + Num(height) }

// Num formats a length with at most one decimal.
func Num(v float64) string {
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

// wideFont is how much wider the widest common sans-serif font is than the widths in TextWidth.
const wideFont = 1.09

// TextWidth returns about how wide a text of 12 pixels is in a sans-serif font, rather too wide than too narrow.
func TextWidth(text string) float64 {
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

// Clip returns the start of a text that fits the width, with an ellipsis if it is not the whole text.
func Clip(text string, width float64) string {
	if TextWidth(text) <= width {
		return text
	}
	used, end := TextWidth("…"), 0
	for i, r := range text {
		if used += TextWidth(string(r)); used > width {
			break
		}
		end = i + len(string(r))
	}
	return strings.TrimRight(text[:min(end, len(text))], " ") + "…"
}

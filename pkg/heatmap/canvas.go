package heatmap

import (
	_ "embed"
	"image"
	"image/color"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// capHeight is the height of the font's capitals and digits, relative to its size.
const capHeight = 0.688

// longest is the most characters of a text; a longer one never fits.
const longest = 300

// canvas draws on a page. Lengths are points, from the upper left corner.
type canvas interface {
	fill(x, y, width, height float64, c color.RGBA)
	lines(thick float64, c color.RGBA, all ...line)
	// text draws a text with the middle of its capitals' height at a point.
	text(x, y float64, text string, as style)
	// image draws an image over a rectangle, without blurring the edges of its pixels.
	// Transparent pixels keep the background.
	image(left, top, width, height float64, img image.Image)
}

// line is a straight line between two points.
type line struct{ x1, y1, x2, y2 float64 }

// anchor says which end of a text is at its point.
type anchor float64

const (
	start  anchor = 0
	middle anchor = 0.5
	end    anchor = 1
)

// style is how a text is drawn. turn is in degrees, against the clock.
type style struct {
	size   float64
	anchor anchor
	turn   float64
	colour color.RGBA
}

// frame draws the edges of a rectangle.
func frame(s canvas, x, y, width, height float64) {
	const thick = 0.5
	right, bottom, out := x+width, y+height, thick/2
	s.lines(thick, grey, line{x - out, y, right + out, y}, line{x - out, bottom, right + out, bottom},
		line{x, y + out, x, bottom - out}, line{right, y + out, right, bottom - out})
}

// hatch fills a rectangle with stripes, which mean no value. They run through the whole
// rectangle, so that even the smallest cells show them.
func hatch(s canvas, x, y, width, height float64) {
	const apart, thick = 5, 0.75
	s.fill(x, y, width, height, ground)
	var all []line
	for d := float64(apart); d < width+height; d += apart {
		all = append(all, line{x + min(d, width), y + max(d-width, 0), x + max(d-height, 0), y + min(d, height)})
	}
	s.lines(thick, stripe, all...)
}

// letters measures text and has its outlines.
type letters struct{ font *sfnt.Font }

// newLetters loads Liberation Sans, which has the widths of Arial and Helvetica.
var newLetters = sync.OnceValues(func() (letters, error) {
	f, err := sfnt.Parse(liberationsansregular.TTF)
	return letters{f}, err
})

// em is the size at which a length of the font is one of its own units.
func (l letters) em() fixed.Int26_6 { return fixed.Int26_6(l.font.UnitsPerEm()) }

// glyphs calls draw with each glyph of a text and its distance from the start, and returns the width of the text.
// Lengths are in the font's units. For a pair of glyphs without kerning, the font returns an error and 0.
func (l letters) glyphs(text string, draw func(g sfnt.GlyphIndex, at fixed.Int26_6)) (width fixed.Int26_6) {
	var b sfnt.Buffer
	var previous sfnt.GlyphIndex
	for i, r := range text {
		g, _ := l.font.GlyphIndex(&b, r)
		if i > 0 {
			kern, _ := l.font.Kern(&b, previous, g, l.em(), font.HintingNone)
			width += kern
		}
		draw(g, width)
		advance, _ := l.font.GlyphAdvance(&b, g, l.em(), font.HintingNone)
		width, previous = width+advance, g
	}
	return width
}

// width returns the width of a text.
func (l letters) width(text string, size float64) float64 {
	return float64(l.glyphs(text, func(sfnt.GlyphIndex, fixed.Int26_6) {})) * size / float64(l.em())
}

// widest returns the width of the widest text.
func (l letters) widest(all []string, size float64) (w float64) {
	for _, text := range all {
		w = max(w, l.width(text, size))
	}
	return w
}

// fit removes the middle of a text that is wider than space. Both ends together identify a name
// better than its beginning.
func (l letters) fit(text string, size, space float64) string {
	runes := []rune(text)
	if len(runes) <= longest && l.width(text, size) <= space {
		return text
	}
	for keep := min(len(runes)-1, longest); keep > 0; keep-- {
		head := (keep + 1) / 2
		short := string(runes[:head]) + "…" + string(runes[len(runes)-(keep-head):])
		if l.width(short, size) <= space {
			return short
		}
	}
	return "…"
}

// oneLine returns text that can be drawn and is valid in XML: on one line, without invalid
// characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r == utf8.RuneError || unicode.IsControl(r) || r&0xfffe == 0xfffe: // the last two of each plane
			return utf8.RuneError
		}
		return r
	}, text)
}

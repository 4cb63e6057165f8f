package draw

import (
	_ "embed"
	"image"
	"image/color"
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// CapHeight is the height of the font's capitals and digits, relative to its size.
const CapHeight = 0.688

// longest is the most characters of a text; a longer one never fits.
const longest = 300

// Canvas takes the parts of a picture. Lengths are points, from the upper left corner.
type Canvas interface {
	Fill(x, y, width, height float64, c color.RGBA)
	Lines(thick float64, c color.RGBA, all ...Segment)
	// Label draws a text with the middle of its capitals' height at a point.
	Label(x, y float64, text string, as Lettering)
	// Image draws an image over a rectangle, without blurring the edges of its pixels.
	// Transparent pixels keep the background.
	Image(left, top, width, height float64, img image.Image)
}

// Segment is a straight line between two points: x and y of both.
type Segment [4]float64

// Anchor says which end of a text is at its point.
type Anchor float64

// The ends of a text.
const (
	Start  Anchor = 0
	Middle Anchor = 0.5
	End    Anchor = 1
)

// Lettering is how a text is drawn. Turn is in degrees, against the clock.
type Lettering struct {
	Size   float64
	Anchor Anchor
	Turn   float64
	Colour color.RGBA
}

// Frame draws the edges of a rectangle.
func Frame(to Canvas, x, y, width, height float64) {
	const thick = 0.5
	right, bottom, out := x+width, y+height, thick/2
	to.Lines(thick, Paint("line"), Segment{x - out, y, right + out, y}, Segment{x - out, bottom, right + out, bottom},
		Segment{x, y + out, x, bottom - out}, Segment{right, y + out, right, bottom - out})
}

// Hatch fills a rectangle with stripes, which mean no value. They run through the whole
// rectangle, so that even the smallest cells show them.
func Hatch(to Canvas, x, y, width, height float64) {
	const apart, thick = 5, 0.8
	to.Fill(x, y, width, height, Paint("panel"))
	var all []Segment
	for d := float64(apart); d < width+height; d += apart {
		all = append(all, Segment{x + min(d, width), y + max(d-width, 0), x + max(d-height, 0), y + min(d, height)})
	}
	to.Lines(thick, Paint("faint"), all...)
}

// Letters measures text and has its outlines.
type Letters struct{ font *sfnt.Font }

// NewLetters loads Liberation Sans, which has the widths of Arial and Helvetica.
var NewLetters = sync.OnceValues(func() (Letters, error) {
	f, err := sfnt.Parse(liberationsansregular.TTF)
	return Letters{f}, err
})

// em is the size at which a length of the font is one of its own units.
func (l Letters) em() fixed.Int26_6 { return fixed.Int26_6(l.font.UnitsPerEm()) }

// glyphs calls draw with each glyph of a text and its distance from the start, and returns the width of the text.
// Lengths are in the font's units. For a pair of glyphs without kerning, the font returns an error and 0.
func (l Letters) glyphs(text string, draw func(g sfnt.GlyphIndex, at fixed.Int26_6)) (width fixed.Int26_6) {
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

// Width returns the width of a text.
func (l Letters) Width(text string, size float64) float64 {
	return float64(l.glyphs(text, func(sfnt.GlyphIndex, fixed.Int26_6) {})) * size / float64(l.em())
}

// Widest returns the width of the widest text.
func (l Letters) Widest(all []string, size float64) (w float64) {
	for _, text := range all {
		w = max(w, l.Width(text, size))
	}
	return w
}

// Fit removes the middle of a text that is wider than space. Both ends together identify a name
// better than its beginning.
func (l Letters) Fit(text string, size, space float64) string {
	runes := []rune(text)
	if len(runes) <= longest && l.Width(text, size) <= space {
		return text
	}
	for keep := min(len(runes)-1, longest); keep > 0; keep-- {
		head := (keep + 1) / 2
		short := string(runes[:head]) + "…" + string(runes[len(runes)-(keep-head):])
		if l.Width(short, size) <= space {
			return short
		}
	}
	return "…"
}

// OneLine returns text that can be drawn and is valid in XML: on one line, without invalid or invisible characters.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) ||
			r&0xfffe == 0xfffe: // or the last of a plane
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

package heatmap

import (
	_ "embed"
	"image"
	"image/color"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"github.com/batchctl/batchctl/pkg/packed"
)

// capHeight is the height of the font's capitals and digits, relative to its size.
const capHeight = 0.688

// longest is the most characters of a text; a longer one never fits.
const longest = 300

// canvas draws on a page. Lengths are points, from the upper left corner.
type canvas struct {
	canvas vg.Canvas
	height float64
	// image draws an image over a rectangle, without blurring the edges of its pixels.
	// Transparent pixels keep the background.
	image func(left, top, width, height float64, img image.Image)
}

// letters measures and draws text.
type letters struct{ font *opentype.Font }

// fontArchive holds Liberation Sans, which has the widths of Arial and Helvetica. Its module embeds twice as many
// bytes. TestFont compares them and, with -update, packs the font.
//
//go:embed font.zip.gz
var fontArchive string

const fontFile = "LiberationSans-Regular.ttf"

// newLetters loads the font that is part of the program.
var newLetters = sync.OnceValues(func() (letters, error) {
	f, err := opentype.Parse([]byte(packed.Text(packed.Files(fontArchive), fontFile)))
	return letters{f}, err
})

// face returns the font in a size.
func (l letters) face(size float64) font.Face {
	return font.Face{Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(size)}, Face: l.font}
}

// width returns the width of a text.
func (l letters) width(text string, size float64) float64 {
	face := l.face(size)
	return float64(face.Width(text))
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
	colour color.Color
}

// text draws a text with the middle of its capitals' height at a point.
func (s *canvas) text(l letters, x, y float64, text string, as style) {
	if text == "" {
		return
	}
	s.canvas.Push()
	s.canvas.SetColor(as.colour)
	s.canvas.Translate(s.point(x, y))
	if as.turn != 0 {
		s.canvas.Rotate(as.turn * math.Pi / 180)
	}
	at := vg.Point{X: vg.Length(0 - float64(as.anchor)*l.width(text, as.size)), Y: vg.Length(-capHeight / 2 * as.size)}
	s.canvas.FillString(l.face(as.size), at, text)
	s.canvas.Pop()
}

// point converts a position to the library's coordinates, whose origin is the
// lower left corner.
func (s *canvas) point(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(s.height - y)}
}

// rectangle returns the outline of a rectangle.
func (s *canvas) rectangle(x, y, width, height float64) vg.Path {
	var p vg.Path
	p.Move(s.point(x, y))
	p.Line(s.point(x+width, y))
	p.Line(s.point(x+width, y+height))
	p.Line(s.point(x, y+height))
	p.Close()
	return p
}

func (s *canvas) fill(x, y, width, height float64, c color.Color) {
	s.canvas.SetColor(c)
	s.canvas.Fill(s.rectangle(x, y, width, height))
}

func (s *canvas) frame(x, y, width, height, thick float64, c color.Color) {
	s.canvas.SetColor(c)
	s.canvas.SetLineWidth(vg.Length(thick))
	s.canvas.Stroke(s.rectangle(x, y, width, height))
}

func (s *canvas) line(x1, y1, x2, y2, thick float64, c color.Color) {
	s.canvas.SetColor(c)
	s.canvas.SetLineWidth(vg.Length(thick))
	var p vg.Path
	p.Move(s.point(x1, y1))
	p.Line(s.point(x2, y2))
	s.canvas.Stroke(p)
}

// hatch fills a rectangle with stripes, which mean no value. They run through the whole
// rectangle, so that even the smallest cells show them.
func (s *canvas) hatch(x, y, width, height float64) {
	const apart, thick = 5, 0.75
	s.fill(x, y, width, height, ground)
	s.canvas.SetColor(stripe)
	s.canvas.SetLineWidth(thick)
	var p vg.Path
	for d := float64(apart); d < width+height; d += apart {
		p.Move(s.point(x+min(d, width), y+max(d-width, 0)))
		p.Line(s.point(x+max(d-height, 0), y+min(d, height)))
	}
	s.canvas.Stroke(p)
}

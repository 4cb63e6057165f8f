package draw

import (
	"image"
	"image/color"
	stdraw "image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Pixels is the number of pixels that a point has in a PNG. An edge at a multiple of a pixel is sharp.
const Pixels = 2

// WritePNG writes a picture as PNG.
func WritePNG(w io.Writer, width, height float64, l Letters, paint func(Canvas)) error {
	b := bitmap{image.NewRGBA(image.Rect(0, 0, int(width*Pixels), int(height*Pixels))), l}
	paint(b)
	return png.Encode(w, b.RGBA)
}

// bitmap is a Canvas that becomes PNG.
type bitmap struct {
	*image.RGBA
	letters Letters
}

// area returns the pixels of a rectangle.
func area(x, y, width, height float64) image.Rectangle {
	return image.Rect(int(x*Pixels), int(y*Pixels), int((x+width)*Pixels), int((y+height)*Pixels))
}

func (b bitmap) Fill(x, y, width, height float64, c color.RGBA) {
	stdraw.Draw(b, area(x, y, width, height), image.NewUniform(c), image.Point{}, stdraw.Over)
}

func (b bitmap) Image(left, top, width, height float64, img image.Image) {
	enlarge(b, area(left, top, width, height), img)
}

// enlarge draws img into a rectangle; a pixel that lets something through is left out.
func enlarge(to stdraw.Image, r image.Rectangle, img image.Image) {
	n := img.Bounds().Size()
	for j := range n.Y {
		for i := range n.X {
			c := img.At(i, j)
			if _, _, _, a := c.RGBA(); a == 0 {
				continue
			}
			cell := image.Rect(i*r.Dx()/n.X, j*r.Dy()/n.Y, (i+1)*r.Dx()/n.X, (j+1)*r.Dy()/n.Y).Add(r.Min)
			stdraw.Draw(to, cell, image.NewUniform(c), image.Point{}, stdraw.Src)
		}
	}
}

// outline is the outline of a shape in a rectangle of the image.
type outline struct {
	*vector.Rasterizer
	in image.Rectangle
}

// outline returns an empty outline for a shape between two corners.
func (b bitmap) outline(left, top, right, bottom float64) outline {
	in := area(left, top, right-left, bottom-top).Inset(-1)
	return outline{vector.NewRasterizer(in.Dx(), in.Dy()), in}
}

// at converts a point of the page.
func (o outline) at(x, y float64) (float32, float32) {
	return float32(x*Pixels - float64(o.in.Min.X)), float32(y*Pixels - float64(o.in.Min.Y))
}

// paint fills the outline, with smooth edges.
func (b bitmap) paint(o outline, c color.RGBA) {
	mask := image.NewAlpha(image.Rectangle{Max: o.in.Size()})
	o.Draw(mask, mask.Rect, image.Opaque, image.Point{})
	stdraw.DrawMask(b, o.in, image.NewUniform(c), image.Point{}, mask, image.Point{}, stdraw.Over)
}

func (b bitmap) Lines(thick float64, c color.RGBA, all ...Segment) {
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, l := range all {
		left, top = min(left, l[0], l[2]), min(top, l[1], l[3])
		right, bottom = max(right, l[0], l[2]), max(bottom, l[1], l[3])
	}
	o := b.outline(left-thick, top-thick, right+thick, bottom+thick)
	for _, l := range all { // each is a rectangle that reaches half its thickness to both sides
		dx, dy := l[2]-l[0], l[3]-l[1]
		half := thick / 2 / math.Hypot(dx, dy)
		dx, dy = dx*half, dy*half
		o.MoveTo(o.at(l[0]-dy, l[1]+dx))
		o.LineTo(o.at(l[2]-dy, l[3]+dx))
		o.LineTo(o.at(l[2]+dy, l[3]-dx))
		o.LineTo(o.at(l[0]+dy, l[1]-dx))
		o.ClosePath()
	}
	b.paint(o, c)
}

func (b bitmap) Label(x, y float64, text string, as Lettering) {
	width := b.letters.Width(text, as.Size)
	sin, cos := math.Sincos(-as.Turn * math.Pi / 180)
	long, high := width+as.Size, as.Size // a glyph may reach beyond its width
	across, up := long*math.Abs(cos)+high*math.Abs(sin), long*math.Abs(sin)+high*math.Abs(cos)
	o := b.outline(x-across, y-up, x+across, y+up)
	scale := as.Size / float64(b.letters.em())
	b.letters.glyphs(text, func(g sfnt.GlyphIndex, start fixed.Int26_6) {
		point := func(p fixed.Point26_6) (float32, float32) {
			along, down := float64(start+p.X)*scale-float64(as.Anchor)*width, float64(p.Y)*scale+CapHeight/2*as.Size
			return o.at(x+along*cos-down*sin, y+along*sin+down*cos)
		}
		segments, _ := b.letters.font.LoadGlyph(new(sfnt.Buffer), g, b.letters.em(), nil)
		for _, s := range segments {
			ax, ay := point(s.Args[0])
			bx, by := point(s.Args[1])
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				o.MoveTo(ax, ay)
			case sfnt.SegmentOpLineTo:
				o.LineTo(ax, ay)
			case sfnt.SegmentOpQuadTo: // TrueType has no other curves
				o.QuadTo(ax, ay, bx, by)
			}
		}
	})
	b.paint(o, as.Colour)
}

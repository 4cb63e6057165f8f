package heatmap

import (
	"bytes"
	"image"
	"image/draw"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// pointsPerInch is the number of points in an inch.
const pointsPerInch = 72

// page is a table that is ready to be drawn.
type page struct {
	*layout
	grid    grid
	letters letters
}

// page calculates the picture.
func (t *Table) page(o Options) (*page, error) {
	g, err := t.grid(o.Combine)
	if err != nil {
		return nil, err
	}
	l, err := newLetters()
	if err != nil {
		return nil, err
	}
	return &page{arrange(t, &g, o, l), g, l}, nil
}

// WritePNG writes the picture as PNG, with two pixels for a point: 144 in an inch.
func (t *Table) WritePNG(w io.Writer, o Options) error {
	p, err := t.page(o)
	if err != nil {
		return err
	}
	c := vgimg.NewWith(vgimg.UseWH(vg.Length(p.width), vg.Length(p.height)), vgimg.UseDPI(pixels*pointsPerInch))
	s := &canvas{canvas: c, height: p.height, image: func(left, top, width, height float64, img image.Image) {
		enlarge(c.Image(), image.Rect(int(left*pixels), int(top*pixels), int((left+width)*pixels), int((top+height)*pixels)), img)
	}}
	drawPage(s, p)
	_, err = vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// enlarge draws img into a rectangle; a pixel that lets something through is left out.
// The canvas would blur the edges between pixels.
func enlarge(to draw.Image, r image.Rectangle, img image.Image) {
	n := img.Bounds().Size()
	for j := range n.Y {
		for i := range n.X {
			c := img.At(i, j)
			if _, _, _, a := c.RGBA(); a == 0 {
				continue
			}
			cell := image.Rect(i*r.Dx()/n.X, j*r.Dy()/n.Y, (i+1)*r.Dx()/n.X, (j+1)*r.Dy()/n.Y).Add(r.Min)
			draw.Draw(to, cell, image.NewUniform(c), image.Point{}, draw.Src)
		}
	}
}

// WriteSVG writes the picture as SVG. Text is text, in Liberation Sans or a font with
// the same widths; small cells are an image inside.
func (t *Table) WriteSVG(w io.Writer, o Options) error {
	p, err := t.page(o)
	if err != nil {
		return err
	}
	c := vgsvg.New(vg.Length(p.width), vg.Length(p.height))
	s := &canvas{canvas: c, height: p.height, image: func(left, top, width, height float64, img image.Image) {
		large := image.NewRGBA(image.Rect(0, 0, int(width*pixels), int(height*pixels))) // some viewers blur what they enlarge
		enlarge(large, large.Rect, img)
		low := vg.Point{X: vg.Length(left), Y: vg.Length(p.height - top - height)}
		c.DrawImage(vg.Rectangle{Min: low, Max: low.Add(vg.Point{X: vg.Length(width), Y: vg.Length(height)})}, large)
	}}
	drawPage(s, p)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err = corrected.WriteString(w, b.String())
	return err
}

// corrected fixes output of vgsvg that has no setting. It cannot change text of the table,
// because quotes are escaped there.
var corrected = strings.NewReplacer(
	`style="font-family:Liberation Sans;`, `style="font-family:'Liberation Sans',Arial,Helvetica,sans-serif;`,
	`xlink:href="data:image/jpg;base64,`, `preserveAspectRatio="none" style="image-rendering:optimizeSpeed;image-rendering:pixelated" xlink:href="data:image/png;base64,`,
)

func drawPage(s *canvas, p *page) { drawAll(s, p.layout, &p.grid, p.letters) }

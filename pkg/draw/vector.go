package draw

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
)

// WriteSVG writes a picture as SVG. Texts are texts, in Liberation Sans or a font with the same widths.
func WriteSVG(w io.Writer, width, height float64, title string, paint func(Canvas)) error {
	var v drawing
	v.Open("svg", "xmlns", "http://www.w3.org/2000/svg", "xmlns:xlink", "http://www.w3.org/1999/xlink", "role", "img",
		"width", Num(width)+"pt", "height", Num(height)+"pt", "viewBox", ViewBox(width, height),
		"font-family", "'Liberation Sans',Arial,Helvetica,sans-serif")
	v.Element("title", title)
	paint(&v)
	v.Close("svg")
	_, err := io.WriteString(w, v.String())
	return err
}

// drawing is a Canvas that becomes SVG.
type drawing struct{ SVG }

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func (v *drawing) Fill(x, y, width, height float64, c color.RGBA) {
	v.Shape("rect", "x", x, "y", y, "width", width, "height", height, "fill", hex(c))
}

func (v *drawing) Lines(thick float64, c color.RGBA, all ...Segment) {
	path := ""
	for _, l := range all {
		path += Path(l[:]...)
	}
	v.Shape("path", "d", path, "stroke", hex(c), "stroke-width", thick)
}

func (v *drawing) Label(x, y float64, text string, as Lettering) {
	if text == "" {
		return
	}
	turn := ""
	if as.Turn != 0 {
		turn = fmt.Sprintf("rotate(%g %s %s)", -as.Turn, Num(x), Num(y))
	}
	side := map[Anchor]string{Start: "start", Middle: "middle", End: "end"}[as.Anchor]
	v.Element("text", text, "x", x, "y", y+CapHeight/2*as.Size, "font-size", as.Size, "text-anchor", side,
		"fill", hex(as.Colour), "transform", turn)
}

func (v *drawing) Image(left, top, width, height float64, img image.Image) {
	large := image.NewRGBA(image.Rect(0, 0, int(width*Pixels),
		int(height*Pixels))) // some viewers blur what they enlarge
	enlarge(large, large.Rect, img)
	var file bytes.Buffer
	_ = png.Encode(&file, large) // a buffer takes everything
	v.Shape("image", "x", left, "y", top, "width", width, "height", height, "preserveAspectRatio", "none",
		"style", "image-rendering:optimizeSpeed;image-rendering:pixelated",
		"xlink:href", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(file.Bytes()))
}

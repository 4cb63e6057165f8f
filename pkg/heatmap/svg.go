package heatmap

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"io"
)

// WriteSVG writes the picture as SVG. Text is text, in Liberation Sans or a font with
// the same widths; small cells are an image inside.
func (t *Table) WriteSVG(w io.Writer, o Options) error {
	p, err := t.page(o)
	if err != nil {
		return err
	}
	var s drawing
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="%[1]gpt" height="%[2]gpt" viewBox="0 0 %[1]g %[2]g" font-family="'Liberation Sans',Arial,Helvetica,sans-serif">`, p.width, p.height)
	drawAll(&s, p)
	s.add("</svg>")
	_, err = s.WriteTo(w)
	return err
}

// drawing is an SVG.
type drawing struct{ bytes.Buffer }

// add writes a line.
func (d *drawing) add(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func (d *drawing) fill(x, y, width, height float64, c color.RGBA) {
	d.add(`<rect x="%.6g" y="%.6g" width="%.6g" height="%.6g" fill="%s"/>`, x, y, width, height, hex(c))
}

func (d *drawing) lines(thick float64, c color.RGBA, all ...line) {
	d.WriteString(`<path d="`)
	for _, l := range all {
		fmt.Fprintf(d, "M%.6g %.6gL%.6g %.6g", l.x1, l.y1, l.x2, l.y2)
	}
	d.add(`" stroke="%s" stroke-width="%g"/>`, hex(c), thick)
}

func (d *drawing) text(x, y float64, text string, as style) {
	if text == "" {
		return
	}
	turn := ""
	if as.turn != 0 {
		turn = fmt.Sprintf(` transform="rotate(%g %.6g %.6g)"`, -as.turn, x, y)
	}
	side := map[anchor]string{start: "start", middle: "middle", end: "end"}[as.anchor]
	d.add(`<text x="%.6g" y="%.6g" font-size="%g" text-anchor="%s" fill="%s"%s>%s</text>`, x, y+capHeight/2*as.size,
		as.size, side, hex(as.colour), turn, html.EscapeString(text))
}

func (d *drawing) image(left, top, width, height float64, img image.Image) {
	large := image.NewRGBA(image.Rect(0, 0, int(width*pixels),
		int(height*pixels))) // some viewers blur what they enlarge
	enlarge(large, large.Rect, img)
	var file bytes.Buffer
	_ = png.Encode(&file, large) // a buffer takes everything
	d.add(`<image x="%.6g" y="%.6g" width="%.6g" height="%.6g" preserveAspectRatio="none" style="image-rendering:optimizeSpeed;image-rendering:pixelated" xlink:href="data:image/png;base64,%s"/>`,
		left, top, width, height, base64.StdEncoding.EncodeToString(file.Bytes()))
}

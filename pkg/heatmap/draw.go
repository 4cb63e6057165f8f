package heatmap

import (
	"cmp"
	"image"
	"io"
	"math"
	"strings"

	"github.com/batchctl/batchctl/pkg/draw"
)

// page is a table that is ready to be drawn.
type page struct {
	*layout
	grid    grid
	letters draw.Letters
}

// page calculates the picture.
func (t *Table) page(o Options) (*page, error) {
	g, err := t.grid(o.Combine)
	if err != nil {
		return nil, err
	}
	l, err := draw.NewLetters()
	if err != nil {
		return nil, err
	}
	return &page{arrange(t, &g, o, l), g, l}, nil
}

// WriteSVG writes the picture as SVG. Small cells are an image inside.
func (t *Table) WriteSVG(w io.Writer, o Options) error {
	p, err := t.page(o)
	if err != nil {
		return err
	}
	return draw.WriteSVG(w, p.width, p.height, p.description(), func(s draw.Canvas) { drawAll(s, p) })
}

// WritePNG writes the picture as PNG, with 144 pixels in an inch.
func (t *Table) WritePNG(w io.Writer, o Options) error {
	p, err := t.page(o)
	if err != nil {
		return err
	}
	return draw.WritePNG(w, p.width, p.height, p.letters, func(s draw.Canvas) { drawAll(s, p) })
}

// description is what a screen reader reads of the picture.
func (p *page) description() string {
	return strings.TrimPrefix(p.title+": "+cmp.Or(p.value, "values")+" by "+p.xName+" and "+p.yName, ": ")
}

// drawAll draws everything at its place.
func drawAll(s draw.Canvas, page *page) {
	p, g := page.layout, &page.grid
	s.Fill(0, 0, p.width, p.height, draw.Paint("ground"))
	s.Label(p.left, margin+titleSize/2, p.title, inked(titleSize, draw.Start, 0))
	drawCells(s, p, g)
	drawNumbers(s, p, g)
	drawAxes(s, p)
	drawBar(s, p, g)
	if g.missing {
		y := p.legendTop()
		draw.Hatch(s, p.barLeft, y, swatch+4, swatch)
		draw.Frame(s, p.barLeft, y, swatch+4, swatch)
		s.Label(p.barLeft+swatch+4+gap, y+swatch/2, noValue, inked(noteSize, draw.Start, 0))
	}
}

// inked is how the texts beside the cells are drawn.
func inked(size float64, anchor draw.Anchor, turn float64) draw.Lettering {
	return draw.Lettering{Size: size, Anchor: anchor, Turn: turn, Colour: draw.Paint("ink")}
}

// drawCells draws the colours of the cells. Small cells are one image without
// lines between them.
func drawCells(s draw.Canvas, p *layout, g *grid) {
	if g.missing {
		draw.Hatch(s, p.left, p.top, p.plotWidth, p.plotHigh)
	}
	if !p.separated() {
		s.Image(p.left, p.top, p.plotWidth, p.plotHigh, picture(g))
		draw.Frame(s, p.left, p.top, p.plotWidth, p.plotHigh)
		return
	}
	for j := range g.ny {
		for i := range g.nx {
			if v := g.at(i, j); !math.IsNaN(v) {
				s.Fill(p.left+float64(i)*p.cellWidth, p.top+float64(j)*p.cellHigh, p.cellWidth, p.cellHigh,
					g.scale.colour(v))
			}
		}
	}
	for i := 1; i < g.nx; i++ {
		x := p.left + float64(i)*p.cellWidth
		s.Lines(1, draw.Paint("ground"), draw.Segment{x, p.top, x, p.top + p.plotHigh})
	}
	for j := 1; j < g.ny; j++ {
		y := p.top + float64(j)*p.cellHigh
		s.Lines(1, draw.Paint("ground"), draw.Segment{p.left, y, p.left + p.plotWidth, y})
	}
}

// picture has a pixel for each cell, transparent if there is no value.
func picture(g *grid) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, g.nx, g.ny))
	for j := range g.ny {
		for i := range g.nx {
			if v := g.at(i, j); !math.IsNaN(v) {
				img.SetRGBA(i, j, g.scale.colour(v))
			}
		}
	}
	return img
}

// drawNumbers draws the values in the cells, if they fit.
func drawNumbers(s draw.Canvas, p *layout, g *grid) {
	if p.numbers == nil {
		return
	}
	for j := range g.ny {
		for i := range g.nx {
			v := g.at(i, j)
			if math.IsNaN(v) {
				continue
			}
			s.Label(p.left+(float64(i)+0.5)*p.cellWidth, p.top+(float64(j)+0.5)*p.cellHigh, p.numbers[j*g.nx+i],
				draw.Lettering{Size: p.numbersSize, Anchor: draw.Middle, Colour: draw.InkOn(g.scale.colour(v))})
		}
	}
}

// drawAxes draws the labels and names of both axes.
func drawAxes(s draw.Canvas, p *layout) {
	bottom := p.top + p.plotHigh
	for i, label := range p.xLabels {
		x := p.left + (float64(i)+0.5)*p.cellWidth
		if p.turned {
			s.Label(x+1, bottom+gap+labelSize/4, label, inked(labelSize, draw.End, 45))
		} else {
			s.Label(x, bottom+gap+labelSize/2, label, inked(labelSize, draw.Middle, 0))
		}
		if label != "" && !p.separated() {
			s.Lines(0.5, draw.Paint("line"), draw.Segment{x, bottom, x, bottom + 3})
		}
	}
	for j, label := range p.yLabels {
		y := p.top + (float64(j)+0.5)*p.cellHigh
		s.Label(p.left-gap, y, label, inked(labelSize, draw.End, 0))
		if label != "" && !p.separated() {
			s.Lines(0.5, draw.Paint("line"), draw.Segment{p.left - 3, y, p.left, y})
		}
	}
	s.Label(p.left+p.plotWidth/2, p.below()-nameSize/2, p.xName, inked(nameSize, draw.Middle, 0))
	s.Label(p.left-gap-p.yLabelsWide-gap-nameSize/2, p.top+p.plotHigh/2, p.yName, inked(nameSize, draw.Middle, 90))
}

// shades is the number of colours in the drawn scale.
const shades = 256

// drawBar draws the scale of colours with its numbers.
func drawBar(s draw.Canvas, p *layout, g *grid) {
	if g.scale.empty() {
		return
	}
	img := image.NewRGBA(image.Rect(0, 0, 1, shades))
	for i := range shades {
		c := draw.Shade(1 - float64(i)/(shades-1))
		if g.scale.Low == g.scale.High {
			c = g.scale.colour(g.scale.Low)
		}
		img.SetRGBA(0, i, c)
	}
	s.Image(p.barLeft, p.top, barWidth, p.barHigh, img)
	draw.Frame(s, p.barLeft, p.top, barWidth, p.barHigh)
	for _, tick := range p.ticks {
		y := p.top + (1-g.scale.At(tick.Value))*p.barHigh
		s.Lines(0.5, draw.Paint("line"), draw.Segment{p.barLeft + barWidth, y, p.barLeft + barWidth + 3, y})
		s.Label(p.ticksLeft(), y, tick.Label, inked(labelSize, draw.Start, 0))
	}
	s.Label(p.ticksLeft()+p.ticksWide+gap+nameSize/2, p.top+p.barHigh/2, p.value, inked(nameSize, draw.Middle, 90))
}

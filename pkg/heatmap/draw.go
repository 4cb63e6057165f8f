package heatmap

import (
	"image"
	"image/color"
	"math"
)

var (
	black  = color.RGBA{0x1a, 0x1a, 0x1a, 0xff}
	grey   = color.RGBA{0x80, 0x80, 0x80, 0xff}
	white  = color.RGBA{0xff, 0xff, 0xff, 0xff}
	ground = color.RGBA{0xf2, 0xf2, 0xf2, 0xff}
	stripe = color.RGBA{0xb0, 0xb0, 0xb0, 0xff}
)

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

// drawAll draws everything at its place.
func drawAll(s canvas, page *page) {
	p, g := page.layout, &page.grid
	s.fill(0, 0, p.width, p.height, white)
	s.text(p.left, margin+titleSize/2, p.title, style{titleSize, start, 0, black})
	drawCells(s, p, g)
	drawNumbers(s, p, g)
	drawAxes(s, p)
	drawBar(s, p, g)
	if g.missing {
		y := p.legendTop()
		hatch(s, p.barLeft, y, swatch+4, swatch)
		frame(s, p.barLeft, y, swatch+4, swatch)
		s.text(p.barLeft+swatch+4+gap, y+swatch/2, noValue, style{noteSize, start, 0, black})
	}
}

// drawCells draws the colours of the cells. Small cells are one image without
// lines between them.
func drawCells(s canvas, p *layout, g *grid) {
	if g.missing {
		hatch(s, p.left, p.top, p.plotWidth, p.plotHigh)
	}
	if !p.separated() {
		s.image(p.left, p.top, p.plotWidth, p.plotHigh, picture(g))
		frame(s, p.left, p.top, p.plotWidth, p.plotHigh)
		return
	}
	for j := range g.ny {
		for i := range g.nx {
			if v := g.at(i, j); !math.IsNaN(v) {
				s.fill(p.left+float64(i)*p.cellWidth, p.top+float64(j)*p.cellHigh, p.cellWidth, p.cellHigh,
					g.scale.colour(v))
			}
		}
	}
	for i := 1; i < g.nx; i++ {
		x := p.left + float64(i)*p.cellWidth
		s.lines(1, white, line{x, p.top, x, p.top + p.plotHigh})
	}
	for j := 1; j < g.ny; j++ {
		y := p.top + float64(j)*p.cellHigh
		s.lines(1, white, line{p.left, y, p.left + p.plotWidth, y})
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
func drawNumbers(s canvas, p *layout, g *grid) {
	if p.numbers == nil {
		return
	}
	for j := range g.ny {
		for i := range g.nx {
			v := g.at(i, j)
			if math.IsNaN(v) {
				continue
			}
			s.text(p.left+(float64(i)+0.5)*p.cellWidth, p.top+(float64(j)+0.5)*p.cellHigh, p.numbers[j*g.nx+i],
				style{p.numbersSize, middle, 0, ink(g.scale.colour(v))})
		}
	}
}

// drawAxes draws the labels and names of both axes.
func drawAxes(s canvas, p *layout) {
	bottom := p.top + p.plotHigh
	for i, label := range p.xLabels {
		x := p.left + (float64(i)+0.5)*p.cellWidth
		if p.turned {
			s.text(x+1, bottom+gap+labelSize/4, label, style{labelSize, end, 45, black})
		} else {
			s.text(x, bottom+gap+labelSize/2, label, style{labelSize, middle, 0, black})
		}
		if label != "" && !p.separated() {
			s.lines(0.5, grey, line{x, bottom, x, bottom + 3})
		}
	}
	for j, label := range p.yLabels {
		y := p.top + (float64(j)+0.5)*p.cellHigh
		s.text(p.left-gap, y, label, style{labelSize, end, 0, black})
		if label != "" && !p.separated() {
			s.lines(0.5, grey, line{p.left - 3, y, p.left, y})
		}
	}
	s.text(p.left+p.plotWidth/2, p.below()-nameSize/2, p.xName, style{nameSize, middle, 0, black})
	s.text(p.left-gap-p.yLabelsWide-gap-nameSize/2, p.top+p.plotHigh/2, p.yName, style{nameSize, middle, 90, black})
}

// drawBar draws the scale of colours with its numbers.
func drawBar(s canvas, p *layout, g *grid) {
	if g.scale.empty() {
		return
	}
	img := image.NewRGBA(image.Rect(0, 0, 1, shades))
	for i := range shades {
		c := g.scale.colours[shades-1-i]
		if g.scale.low == g.scale.high {
			c = g.scale.colour(g.scale.low)
		}
		img.SetRGBA(0, i, c)
	}
	s.image(p.barLeft, p.top, barWidth, p.barHigh, img)
	frame(s, p.barLeft, p.top, barWidth, p.barHigh)
	for _, tick := range p.ticks {
		y := p.top + (1-g.scale.part(tick.value))*p.barHigh
		s.lines(0.5, grey, line{p.barLeft + barWidth, y, p.barLeft + barWidth + 3, y})
		s.text(p.ticksLeft(), y, tick.label, style{labelSize, start, 0, black})
	}
	s.text(p.ticksLeft()+p.ticksWide+gap+nameSize/2, p.top+p.barHigh/2, p.value, style{nameSize, middle, 90, black})
}

package heatmap

import (
	"cmp"
	"math"

	"github.com/batchctl/batchctl/pkg/draw"
)

// Sizes, in points.
const (
	titleSize = 14.0
	nameSize  = 11.0
	labelSize = 9.0
	noteSize  = 9.0

	margin = 14.0
	gap    = 6.0
	// aimWidth and aimHeight are how large the cells are together, if that makes none
	// too large or too small.
	aimWidth, aimHeight = 560.0, 400.0
	// mostWidth is how wide the cells may become together so that numbers fit in.
	mostWidth = 760.0
	// A cell is at most this large, and at least a pixel.
	mostCellWidth, mostCellHeight = 96.0, 48.0
	// leastHeight is the least height of all cells, which the name of y needs.
	leastHeight = 72.0
	// separate is how large a cell is that white lines part from its neighbours.
	separate = 14.0
	// labelSpace is the longest label of an axis; longer ones are cut.
	labelSpace = 150.0

	barWidth    = 14.0
	barDistance = 18.0
	leastBar    = 96.0
	swatch      = 10.0
)

// Positions are multiples of a pixel of the PNG, so that edges are sharp.
func snap(v float64) float64   { return math.Round(v*draw.Pixels) / draw.Pixels }
func snapUp(v float64) float64 { return math.Ceil(v*draw.Pixels) / draw.Pixels }

// layout has the positions and sizes of all parts of the picture, in points.
type layout struct {
	width, height       float64 // of the page
	left, top           float64 // of the cells
	cellWidth, cellHigh float64
	plotWidth, plotHigh float64

	title, xName, yName string
	xLabels, yLabels    []string // "" where one is left out
	turned              bool     // the labels of x are
	xLabelsHigh         float64
	yLabelsWide         float64

	numbers     []string // in the cells; nil if they do not fit
	numbersSize float64

	barLeft, barHigh float64
	ticks            []draw.Tick
	ticksWide        float64
	value            string
}

// arrange calculates the layout.
func arrange(t *Table, g *grid, o Options, l draw.Letters) *layout {
	p := &layout{title: draw.OneLine(o.Title)}
	p.cells(g, l)
	p.axes(t, l)
	p.bar(t, g, o, l)

	leftOf := p.yLabelsWide + gap
	if p.yName != "" {
		leftOf += nameSize + gap
	}
	for i, label := range p.xLabels { // the first may reach to the left
		reach := l.Width(label, labelSize) / 2
		if p.turned {
			reach = (l.Width(label, labelSize) + labelSize/2) * math.Sqrt2 / 2
		}
		leftOf = max(leftOf, reach-(float64(i)+0.5)*p.cellWidth)
	}
	if over := (l.Width(p.xName, nameSize) - p.plotWidth) / 2; over > 0 {
		leftOf = max(leftOf, over)
	}
	p.left = snapUp(margin + leftOf)
	p.top = margin
	if p.title != "" {
		p.top = snapUp(margin + titleSize + 10)
	}
	p.barLeft = p.left + p.plotWidth + barDistance
	p.width = p.right(g, l) + margin
	if most := max(p.width-p.left-margin, aimWidth); p.title != "" {
		p.title = l.Fit(p.title, titleSize, most)
		p.width = max(p.width, p.left+l.Width(p.title, titleSize)+margin)
	}
	p.width = snapUp(p.width)
	p.height = snapUp(max(p.below(), p.legendEnd(g)) + margin)
	return p
}

// cells chooses the size of a cell, and whether cells contain numbers.
func (p *layout) cells(g *grid, l draw.Letters) {
	nx, ny := float64(g.nx), float64(g.ny)
	size := func(aim, n, most float64) float64 {
		return max(math.Floor(min(aim/n, most)*draw.Pixels)/draw.Pixels, 1.0/draw.Pixels)
	}
	p.cellWidth, p.cellHigh = size(aimWidth, nx, mostCellWidth), size(aimHeight, ny, mostCellHeight)
	p.cellHigh = max(p.cellHigh, snapUp(leastHeight/ny))
	for size := labelSize; size >= 7 && p.numbers == nil; size-- {
		if p.cellHigh < size*1.4 || nx*size > mostWidth { // a number is wider than it is high
			continue
		}
		texts := numbers(g)
		if w := snapUp(l.Widest(texts, size) + 8); nx*max(w, p.cellWidth) <= mostWidth {
			p.numbers, p.numbersSize = texts, size
			p.cellWidth = max(p.cellWidth, w)
		}
	}
	p.plotWidth, p.plotHigh = nx*p.cellWidth, ny*p.cellHigh
}

// separated says that white lines part the cells.
func (p *layout) separated() bool { return min(p.cellWidth, p.cellHigh) >= separate }

// axes chooses the labels that are shown, and how.
func (p *layout) axes(t *Table, l draw.Letters) {
	labels := func(a Axis) []string {
		all := make([]string, len(a.Values))
		for i, v := range a.Values {
			all[i] = l.Fit(draw.OneLine(v), labelSize, labelSpace)
		}
		return all
	}
	p.yLabels = thin(labels(t.y), labelSize*1.3/p.cellHigh)
	p.yLabelsWide = l.Widest(p.yLabels, labelSize)
	p.yName = l.Fit(draw.OneLine(t.y.Name), nameSize, max(p.plotHigh, leastHeight))
	p.xName = l.Fit(draw.OneLine(t.x.Name), nameSize, max(p.plotWidth, labelSpace))

	all := labels(t.x)
	p.xLabelsHigh = labelSize
	upright := (l.Widest(all, labelSize) + 8) / p.cellWidth // cells that a label needs
	slanted := labelSize * 1.15 * math.Sqrt2 / p.cellWidth
	switch {
	case upright <= 1, slanted > 1 && upright <= 5*slanted:
		p.xLabels = thin(all, upright)
	default:
		p.turned = true
		p.xLabels = thin(all, slanted)
		p.xLabelsHigh = (l.Widest(p.xLabels, labelSize) + labelSize) * math.Sqrt2 / 2
	}
}

// thin leaves out labels so that the others fit; a label needs the space of a number of cells.
// The remaining labels are a round number of cells apart.
func thin(labels []string, cells float64) []string {
	if cells <= 1 {
		return labels
	}
	step := int(math.Round(draw.Step(cells)))
	if step < 2 {
		step = 2
	}
	shown := make([]string, len(labels))
	for i := 0; i < len(labels); i += step {
		shown[i] = labels[i]
	}
	return shown
}

// bar measures the scale of colours.
func (p *layout) bar(t *Table, g *grid, o Options, l draw.Letters) {
	if g.scale.empty() {
		return
	}
	p.barHigh = snap(min(max(p.plotHigh, leastBar), aimHeight))
	p.ticks = g.scale.Ticks(int(min(max(p.barHigh/35, 3), 10)))
	for _, tick := range p.ticks {
		p.ticksWide = max(p.ticksWide, l.Width(tick.Label, labelSize))
	}
	value := draw.OneLine(o.Value)
	if t.several {
		value += " (" + string(cmp.Or(o.Combine, Mean)) + ")"
	}
	p.value = l.Fit(value, nameSize, p.barHigh)
}

// ticksLeft is where the numbers of the scale begin.
func (p *layout) ticksLeft() float64 { return p.barLeft + barWidth + 6 }

// right is where the scale ends.
func (p *layout) right(g *grid, l draw.Letters) float64 {
	right := p.left + p.plotWidth
	if over := (l.Width(p.xName, nameSize) - p.plotWidth) / 2; over > 0 {
		right += over
	}
	for i, label := range p.xLabels { // one that is wider than its cell
		if !p.turned {
			right = max(right, p.left+(float64(i)+0.5)*p.cellWidth+l.Width(label, labelSize)/2)
		}
	}
	if !g.scale.empty() {
		right = max(right, p.ticksLeft()+p.ticksWide)
		if p.value != "" {
			right = max(right, p.ticksLeft()+p.ticksWide+gap+nameSize)
		}
	}
	if g.missing {
		right = max(right, p.barLeft+swatch+gap+l.Width(noValue, noteSize))
	}
	return right
}

// below is where the name of x ends.
func (p *layout) below() float64 {
	end := p.top + p.plotHigh + gap + p.xLabelsHigh
	if p.xName != "" {
		end += gap + nameSize
	}
	return end
}

// noValue explains the stripes.
const noValue = "no value"

// legendTop is where the sample of stripes stands: below the scale.
func (p *layout) legendTop() float64 {
	if p.barHigh == 0 {
		return p.top
	}
	return p.top + p.barHigh + 12
}

// legendEnd returns where the legend ends.
func (p *layout) legendEnd(g *grid) float64 {
	if g.missing {
		return p.legendTop() + swatch
	}
	return p.top + p.barHigh + labelSize/2
}

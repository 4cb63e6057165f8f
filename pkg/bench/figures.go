package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/draw"
	"github.com/batchctl/batchctl/pkg/report"
)

// speedUps draws the speed-up by size, a plot for every few operations of a workload.
func (r *Report) speedUps() report.Section {
	s := report.Section{Heading: "Speed-up by size"}
	if r.Decision == nil {
		return s
	}
	var workloads []string
	of := map[string][]*Curve{}
	for _, curve := range r.Decision.Curves {
		if of[curve.Workload] == nil {
			workloads = append(workloads, curve.Workload)
		}
		of[curve.Workload] = append(of[curve.Workload], curve)
	}
	for _, workload := range workloads {
		for part := range slices.Chunk(of[workload], draw.Series) {
			s.Figures = append(s.Figures, r.speedUp(workload, part))
		}
	}
	return s
}

// speedUp draws the curves of one plot, with lines for the same time and the same
// cost.
func (r *Report) speedUp(workload string, part []*Curve) report.Figure {
	c := r.Comparison
	what := fmt.Sprintf("Speed-up of %s over %s, %s", c.Other.Name, c.Base.Name, report.Visible(workload))
	p := plot{label: what, xName: "size, side of the square", yName: "speed-up",
		rules: []rule{{name: "as fast as " + c.Base.Name, value: 1}}}
	if factor, ok := r.Decision.Prices.ratio(); ok {
		p.rules = append(p.rules, rule{name: "as cheap as " + c.Base.Name, value: 1 / factor, cost: true})
	}
	for i, curve := range part {
		line := series{name: curve.Name(), colour: i}
		for _, pair := range curve.Pairs {
			d := dot{x: pair.Length, y: pair.SpeedUp.Value, tooltip: pair.Name() + ": " + ranged(pair.SpeedUp)}
			if in := pair.SpeedUp.Interval; in != nil {
				d.low, d.high = in.Low, in.High
			}
			line.dots = append(line.dots, d)
		}
		p.series = append(p.series, line)
	}
	return report.Figure{Caption: what + ". Bars are intervals.", Picture: p.draw()}
}

// timesBySize draws the times of both sides for each operation. Without another side
// it draws the base alone.
func (r *Report) timesBySize() report.Section {
	s := report.Section{Heading: "Time by size"}
	c := r.Comparison
	var order []string
	lines := map[string]*[2]series{}
	r.eachRow(func(side *Side, row *Row) {
		length := row.first().length()
		if !row.measured() || length == 0 || side.Fastest(row.Key)[0] != row {
			return
		}
		k := row.Key
		k.Size = ""
		name := report.Visible(row.Title + " " + k.where())
		if lines[name] == nil {
			order = append(order, name)
			lines[name] = &[2]series{{name: c.Base.Name, colour: 0}, {name: c.Other.Name, colour: 1}}
		}
		at := 0
		if side == c.Other {
			at = 1
		}
		d := dot{x: length, y: row.Summary.Median, tooltip: fmt.Sprintf("%s, %s: %s seconds", row.Name(), side.Name,
			digits(row.Summary.Median))}
		if in := row.Summary.Interval; in != nil {
			d.low, d.high = in.Low, in.High
		}
		lines[name][at].dots = append(lines[name][at].dots, d)
	})
	for _, name := range order {
		p := plot{label: "Time by size: " + name, xName: "size, side of the square", yName: "seconds"}
		for _, line := range lines[name] {
			slices.SortStableFunc(line.dots, func(a, b dot) int { return int(math.Copysign(1, a.x-b.x)) })
			if len(line.dots) > 0 {
				p.series = append(p.series, line)
			}
		}
		p.rules = r.breakEvenRules(name)
		s.Figures = append(s.Figures, report.Figure{Caption: name, Picture: p.draw()})
	}
	return s
}

// breakEvenRules returns vertical lines at the break-even sizes of an operation.
func (r *Report) breakEvenRules(name string) []rule {
	if r.Decision == nil {
		return nil
	}
	var rules []rule
	for _, curve := range r.Decision.Curves {
		if report.Visible(curve.Title+" "+Key{Batch: curve.Batch, Type: curve.Type,
			Parameters: curve.Parameters}.where()) != name {
			continue
		}
		for _, at := range curve.ByTime.At {
			rules = append(rules, rule{"break-even by time, " + digits(at), at, true, false})
		}
		if curve.ByCost != nil {
			for _, at := range curve.ByCost.At {
				rules = append(rules, rule{"break-even by cost, " + digits(at), at, true, true})
			}
		}
	}
	return rules
}

// partNames are the parts of a repeat's time in the order in which they are stacked.
var partNames = []string{"copy in", "kernel", "copy out", "other"}

// stacked draws the parts of each row's time as shares of one bar.
func (r *Report) stacked() report.Section {
	s := report.Section{Heading: "Where the time goes"}
	const perFigure = 12
	type bar struct {
		name  string
		parts []Part
	}
	for _, side := range []*Side{r.Comparison.Base, r.Comparison.Other} {
		var bars []bar
		for _, row := range side.Rows {
			if parts := row.Parts(); parts != nil {
				bars = append(bars, bar{row.Name(), parts})
			}
		}
		for group := range slices.Chunk(bars, perFigure) {
			what := "Parts of the time on the " + side.Name + " side"
			c := &canvas{}
			y := 14.0
			for _, b := range group {
				c.bar(y, b.name, b.parts)
				y += 40
			}
			s.Figures = append(s.Figures, report.Figure{Caption: what, Picture: c.picture(what, c.partLegend(y))})
		}
	}
	return s
}

// bar draws one row's time as a bar of its parts.
func (c *canvas) bar(y float64, name string, parts []Part) {
	sum := 0.0
	for _, part := range parts {
		sum += part.Seconds
	}
	total := digits(sum) + " s"
	c.Text(8, y, "start", "", draw.Clip(diag.Printable(name), plotWidth-24-draw.TextWidth(total)))
	c.Text(plotWidth-8, y, "end", "", total)
	x := 8.0
	for _, part := range parts {
		width := part.Seconds / sum * (plotWidth - 16)
		tooltip := fmt.Sprintf("%s, %s: %s seconds, %s", name, part.Name, digits(part.Seconds),
			percent(part.Seconds/sum))
		c.rect("part "+seriesClass(slices.Index(partNames, part.Name)), x, y+6, width, 16, tooltip)
		x += width
	}
}

// partLegend names the colours of the parts, and returns the picture's height.
func (c *canvas) partLegend(y float64) float64 {
	x := 8.0
	for i, name := range partNames {
		c.rect("part "+seriesClass(i), x, y-8, 12, 12, "")
		c.Text(x+18, y+2, "start", "", name)
		x += 100
	}
	return y + 14
}

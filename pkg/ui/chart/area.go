package chart

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/draw"
)

// Series is the values of one area. NaN is a gap, negative values count as 0.
type Series struct {
	Name, Class string
	Values      []float64
}

// Area is a chart of areas over time that are stacked in the order of Series, the first at the bottom.
type Area struct {
	ID, Title, Unit string
	// Times are the times of the values of all series. Labels are in their local time.
	Times  []time.Time
	Series []Series
	// Limit is a value at which a dashed line is drawn, 0 for no line.
	Limit     float64
	LimitName string
	// Width and Height are in pixels; 0 selects 640 and 240. The chart is higher if its legend needs it.
	Width, Height int
}

// BandSeries returns the areas of a figure with a band: what it is at least, in the median and at most.
func BandSeries(low, median, high []float64) []Series {
	all := []Series{{Name: "at least", Class: "s-low"}, {Name: "median", Class: "s-median"},
		{Name: "at most", Class: "s-high"}}
	for i := range min(len(low), len(median), len(high)) {
		for n, v := range []float64{low[i], median[i] - low[i], high[i] - median[i]} {
			all[n].Values = append(all[n].Values, v)
		}
	}
	return all
}

// SVG draws the chart. Of the times that fall on one pixel it shows the one with the highest stack.
func (a Area) SVG() string {
	d, width, height, desc := a.paint()
	return d.svg(width, height, a.Title, desc)
}

// File draws areas of one width below each other, as an SVG that needs no page.
func File(title string, areas []Area) string {
	const margin = 16
	var body draw.SVG
	across, y := 0.0, margin+24.0
	for _, a := range areas {
		d, width, height, desc := a.paint()
		body.WriteString(d.svg(width, height, a.Title, desc, "x", float64(margin), "y", y, "width", width, "height",
			height))
		across, y = max(across, width), y+height+margin
	}
	var s draw.SVG
	across = max(across, draw.TextWidth(title)) + 2*margin
	s.Open("svg", "xmlns", "http://www.w3.org/2000/svg", "class", "chart", "width", across, "height", y,
		"viewBox", draw.ViewBox(across, y), "font-size", 12.0)
	s.Element("title", title)
	s.Element("style", "\n"+draw.Sheet(Rules, ""))
	s.Shape("rect", "class", "ground", "width", across, "height", y)
	s.Text(margin, 28, "start", "label heading", title)
	s.WriteString(body.String())
	s.Close("svg")
	return s.String()
}

// paint draws the chart, and returns its size and description.
func (a Area) paint() (d *drawing, width, height float64, desc string) {
	d = newDrawing(a.ID)
	width, height = bounded(a.Width, 640, 200), bounded(a.Height, 240, 120)
	total := a.totals()
	highest, whole := 0.0, true
	for i, v := range total {
		highest = max(highest, max(v, 0)) // a gap is NaN or -1
		for _, s := range a.Series {
			if v := s.at(i); !math.IsNaN(v) {
				whole = whole && v == math.Trunc(v)
			}
		}
	}
	// A limit far above the stack would make the chart flat, so it is only named.
	limit := amount(a.Limit)
	hasLimit := limit > 0 && len(a.Times) > 0
	showLimit := hasLimit && (highest == 0 || limit <= 4*highest)
	scaleTop := max(highest, 1e-9)
	if showLimit {
		scaleTop = max(scaleTop, limit)
	} else if highest == 0 {
		scaleTop = 1
	}

	d.hatches(len(a.Series))
	var keys []key
	if a.Unit != "" {
		keys = append(keys, key{name: a.Unit})
	}
	for _, s := range a.Series {
		keys = append(keys, key{s.Name, "area " + s.Class})
	}
	limitLabel := strings.TrimSpace(a.LimitName + " " + draw.Number(limit))
	if hasLimit && !showLimit {
		keys = append(keys, key{name: limitLabel + " (above the chart)"})
	}
	top := d.legend(width, keys) + 8
	const below = 24
	height = max(height, top+below+64)
	bottom := height - below

	step := draw.Step(scaleTop / max(math.Floor((bottom-top)/44), 2))
	if whole {
		step = max(step, 1)
	}
	axis := draw.Axis{High: max(math.Ceil(scaleTop/step-1e-9), 1) * step, From: bottom, To: top}
	left := 0.0
	for _, tick := range axis.Multiples(step) {
		left = max(left, draw.TextWidth(tick.Label)+8)
	}
	for _, tick := range axis.Multiples(step) {
		at, class := axis.At(tick.Value), "grid"
		if tick.Value == 0 {
			class = "axis"
		}
		d.Line(class, left, at, width-1, at)
		d.Text(left-8, at+4, "end", "label", tick.Label)
	}

	desc = "No data."
	if len(a.Times) == 0 {
		d.Text((left+width)/2, (top+bottom)/2, "middle", "label", "no data")
	} else {
		first, last := slices.MinFunc(a.Times, time.Time.Compare), slices.MaxFunc(a.Times, time.Time.Compare)
		scale := newTimeScale(first, last, left, width-1)
		d.timeAxis(scale, "axis", bottom, bottom+4, bottom+18, width)
		a.areas(d, scale, axis.At, a.sample(total, scale))
		desc = scale.period()
		for _, s := range a.Series {
			desc += " " + s.Name + ": " + withUnit(summary(s.Values[:min(len(s.Values), len(a.Times))]), a.Unit) + "."
		}
	}
	if hasLimit {
		desc += " " + limitLabel + "."
	}
	if showLimit {
		at := axis.At(limit)
		d.Line("limit", left, at, width-1, at, "stroke-dasharray", "6 4")
		label := at - 5
		if label-10 < top {
			label = at + 14
		}
		d.inside(width-5, label, "end", draw.Clip(limitLabel, width-left-8))
	}
	return d, width, height, desc
}

// at returns value i as a chart can draw it.
func (s Series) at(i int) float64 {
	if i >= len(s.Values) {
		return math.NaN()
	}
	return amount(s.Values[i])
}

// totals returns the height of the stack at each time, -1 if all series have a gap there.
func (a Area) totals() []float64 {
	total := make([]float64, len(a.Times))
	for i := range total {
		total[i] = -1
		for _, s := range a.Series {
			if v := s.at(i); !math.IsNaN(v) {
				total[i] = max(total[i], 0) + v
			}
		}
	}
	return total
}

// sample returns the indexes of the values to draw, in the order of time: at most one for each pixel if there are
// more values than pixels.
func (a Area) sample(total []float64, scale timeScale) []int {
	order := make([]int, len(total))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return a.Times[i].Compare(a.Times[j]) })
	if float64(len(order)) <= scale.right-scale.left {
		return order
	}
	kept := order[:0]
	column := -1.0
	for _, i := range order {
		at := math.Floor(scale.x(a.Times[i]))
		switch last := len(kept) - 1; {
		case at > column:
			kept, column = append(kept, i), at
		case total[i] > total[kept[last]]:
			kept[last] = i
		}
	}
	return kept
}

// areas draws the series, each on those below it.
func (a Area) areas(d *drawing, scale timeScale, y func(float64) float64, kept []int) {
	x, base := make([]float64, len(kept)), make([]float64, len(kept))
	for k, i := range kept {
		x[k] = scale.x(a.Times[i])
	}
	for n, s := range a.Series {
		var shapes string
		for k := 0; k < len(kept); {
			var upper, lower []float64 // of a run without a gap
			for ; k < len(kept) && !math.IsNaN(s.at(kept[k])); k++ {
				low := base[k]
				base[k] += s.at(kept[k])
				upper = append(upper, x[k], y(base[k]))
				lower = append(lower, y(low), x[k]) // reversed below
			}
			if len(upper) == 2 { // a single value would be invisible
				west, east := max(upper[0]-2, scale.left), min(upper[0]+2, scale.right)
				upper, lower = []float64{west, upper[1], east, upper[1]}, []float64{lower[0], west, lower[0], east}
			}
			if len(upper) > 0 {
				slices.Reverse(lower)
				shapes += draw.Path(append(upper, lower...)...) + "Z"
			}
			k++
		}
		if shapes == "" {
			continue
		}
		d.Open("g")
		d.Element("title", s.Name)
		d.filled(n, "area "+s.Class, shapes)
		d.Close("g")
	}
}

// summary describes values: the last, the least and the highest.
func summary(values []float64) string {
	last, least, highest := math.NaN(), math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v = amount(v); !math.IsNaN(v) {
			last, least, highest = v, min(least, v), max(highest, v)
		}
	}
	if math.IsNaN(last) {
		return "no data"
	}
	return "last " + draw.Number(last) + ", lowest " + draw.Number(least) + ", highest " + draw.Number(highest)
}

// Spark is a small line with an area for a table cell. Unlike other charts it has a fixed size.
type Spark struct {
	ID, Title string
	// Values have equal distances. NaN is a gap, negative values count as 0.
	Values []float64
	// Max is the value at the top; 0 selects the highest value. Higher values are drawn at the top.
	Max float64
	// Width and Height are in pixels; 0 selects 120 and 24.
	Width, Height int
}

// SVG draws the chart. Of the values that fall on one pixel it shows the highest.
func (s Spark) SVG() string {
	d := newDrawing(s.ID)
	width, height := bounded(s.Width, 120, 16), bounded(s.Height, 24, 8)
	const margin = 2
	values := highestOf(s.Values, int(width-2*margin))
	top := amount(s.Max)
	desc := summary(s.Values)
	if top > 0 {
		desc += ", scale to " + draw.Number(top)
	} else {
		top = 1e-9
		for _, v := range values {
			top = max(top, max(v, 0))
		}
	}
	// The last value is at the right end, also if it is the only one.
	x := func(i int) float64 {
		return width - margin - (width-2*margin)*float64(len(values)-1-i)/float64(max(len(values)-1, 1))
	}
	bottom := height - margin
	d.Line("axis", 0, height-1, width, height-1)
	for i := 0; i < len(values); {
		var line []float64 // without a gap
		for ; i < len(values) && values[i] >= 0; i++ {
			line = append(line, x(i), bottom-min(values[i]/top, 1)*(bottom-margin))
		}
		if end := len(line); end > 2 {
			d.Shape("path", "class", "area", "d",
				draw.Path(append(slices.Clone(line), line[end-2], height-1, line[0], height-1)...)+"Z")
			d.Shape("path", "class", "line", "d", draw.Path(line...), "fill", "none", "stroke-width", 1.5,
				"stroke-linejoin",
				"round")
		}
		if end := len(line); end == 2 || end > 0 && i == len(values) {
			d.Shape("circle", "class", "dot", "cx", line[end-2], "cy", line[end-1], "r", 1.8)
		}
		i++
	}
	return d.svg(width, height, s.Title, strings.ToUpper(desc[:1])+desc[1:]+".", "width", width, "height", height)
}

// highestOf reduces values to at most most, each the highest of a group, -1 for a gap.
func highestOf(values []float64, most int) []float64 {
	n := min(len(values), most)
	reduced := make([]float64, n)
	for i := range reduced {
		reduced[i] = -1
		for _, v := range values[i*len(values)/n : (i+1)*len(values)/n] {
			if v = amount(v); v > reduced[i] {
				reduced[i] = v
			}
		}
	}
	return reduced
}

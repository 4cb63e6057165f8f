package chart

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/draw"
	"github.com/batchctl/batchctl/pkg/text"
)

// Span is a state that a job has for some time.
type Span struct {
	// From and To are the bounds. A zero To means that the state lasts until the end of the timeline.
	From, To time.Time
	Class    string
	// Label is the name of the state, such as RUNNING. It is inside the span if it fits.
	Label string
	// Title is the first line of the tooltip, Label if it is empty. The times and the duration follow.
	Title string
}

// Lane is a row of a timeline.
type Lane struct {
	Name  string
	Spans []Span
}

// Timeline is a Gantt chart of the states of jobs.
type Timeline struct {
	ID, Title string
	// Lanes are the rows from the top. A page can display several hundred.
	Lanes []Lane
	// From and To are the bounds of the time axis. Zero times select the first and the last time of the spans.
	// All times are displayed in the local time of From.
	From, To time.Time
	// Width is in pixels; 0 selects 640. The height depends on the lanes.
	Width int
}

const (
	// tallLanes is the most lanes that have their full height.
	tallLanes = 40
	// describedLanes is the most lanes in the description.
	describedLanes = 20
)

// SVG draws the chart.
func (t Timeline) SVG() string {
	d := newDrawing(t.ID)
	width := bounded(t.Width, 640, 200)
	if len(t.Lanes) == 0 {
		d.Text(width/2, 16, "middle", "label", "no jobs")
		return d.svg(width, 24, t.Title, "No jobs.")
	}
	from, to := t.bounds()

	// Each distinct pair of class and label is a series of the legend.
	var keys []key
	left := 0.0
	for _, lane := range t.Lanes {
		left = max(left, draw.TextWidth(lane.Name)+10)
		for _, s := range lane.Spans {
			if k := s.key(); !slices.Contains(keys, k) && len(keys) < 16 {
				keys = append(keys, k)
			}
		}
	}
	left = min(left, width*0.35)
	d.hatches(len(keys))
	axis := d.legend(width, keys) + 14
	pitch, bar := 24.0, 16.0
	if len(t.Lanes) > tallLanes {
		pitch, bar = 16, 12
	}
	top := axis + 8
	bottom := top + pitch*float64(len(t.Lanes))

	scale := newTimeScale(from, to, left, width-1)
	d.timeAxis(scale, "grid", top, bottom, axis, width)
	if len(t.Lanes) > tallLanes {
		d.timeAxis(scale, "grid", bottom, bottom, bottom+16, width)
	}
	d.Line("axis", left, top, width-1, top)
	desc := scale.period()
	for i, lane := range t.Lanes {
		y := top + pitch*(float64(i)+0.5)
		d.Open("g")
		d.Element("title", lane.Name)
		d.Text(left-10, y+4, "end", "label", draw.Clip(lane.Name, left-10))
		d.Close("g")
		var states []string
		for _, s := range lane.Spans {
			end := s.end(scale.to)
			states = append(states, s.Label+" "+duration(s.From, end))
			if end.Before(scale.from) || s.From.After(scale.to) || end.Before(s.From) {
				continue
			}
			x := min(scale.x(s.From), scale.right-2)
			length := max(scale.x(end)-x, 2)
			d.Open("g")
			d.Element("title", s.tooltip(end, scale.from.Location()))
			// The label or the hatch tells the state without colour.
			shape, class := draw.Rectangle(x, y-bar/2, length, bar), "span "+s.Class
			if s.Label != "" && draw.TextWidth(s.Label)+10 <= length {
				d.filled(0, class, shape)
				d.inside(x+5, y+4, "start", s.Label)
			} else {
				d.filled(slices.Index(keys, s.key()), class, shape)
			}
			d.Close("g")
		}
		if i < describedLanes {
			desc += " " + lane.Name + ": " + strings.Join(states, ", ") + "."
		}
	}
	if more := len(t.Lanes) - describedLanes; more > 0 {
		desc += " And " + strconv.Itoa(more) + " more."
	}
	height := bottom + 6
	if len(t.Lanes) > tallLanes {
		height += 16
	}
	return d.svg(width, height, t.Title, desc)
}

// bounds returns the bounds of the time axis.
func (t Timeline) bounds() (from, to time.Time) {
	from, to = t.From, t.To
	for _, lane := range t.Lanes {
		for _, s := range lane.Spans {
			if t.From.IsZero() && (from.IsZero() || s.From.Before(from)) {
				from = s.From
			}
			if last := s.end(s.From); t.To.IsZero() && last.After(to) {
				to = last
			}
		}
	}
	return from, to
}

func (s Span) key() key { return key{s.Label, "span " + s.Class} }

// end returns the end of the span, or last if it has none.
func (s Span) end(last time.Time) time.Time {
	if s.To.IsZero() {
		return last
	}
	return s.To
}

// tooltip returns the text that a browser shows for a span, with times of a location.
func (s Span) tooltip(end time.Time, location *time.Location) string {
	title, start := s.Title, s.From.In(location).Format(time.DateTime)
	if title == "" {
		title = s.Label
	}
	times := "since " + start
	if !s.To.IsZero() {
		times = start + " to " + end.In(location).Format(time.DateTime)
	}
	return title + "\n" + times + "\n" + duration(s.From, end)
}

// duration formats the time between two times, such as 1h5m.
func duration(from, to time.Time) string { return text.Duration(max(to.Sub(from), 0)) }

package page

import (
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/ui/chart"
)

// chartWidths are the widths of charts: on a wide page, on a tablet and on a phone. Text keeps its size, so each width
// is a drawing of its own.
var chartWidths = []struct {
	class string
	width int
}{{"wide", 1300}, {"middle", 720}, {"narrow", 340}}

// allWidths returns a chart in all widths, of which the style sheet shows one.
func allWidths(draw func(id string, width int) string, id string) string {
	var b strings.Builder
	for _, w := range chartWidths {
		b.WriteString(`<div class="` + w.class + `">` + draw(id+"-"+w.class, w.width) + `</div>`)
	}
	return b.String()
}

// Area draws a chart of areas in all widths.
func Area(a chart.Area) string {
	return allWidths(func(id string, width int) string {
		a.ID, a.Width = id, width
		return a.SVG()
	}, a.ID)
}

// Timeline draws a timeline in all widths.
func Timeline(t chart.Timeline) string {
	return allWidths(func(id string, width int) string {
		t.ID, t.Width = id, width
		return t.SVG()
	}, t.ID)
}

// Bars draws a chart of bars in all widths.
func Bars(b chart.Bars) string {
	return allWidths(func(id string, width int) string {
		b.ID, b.Width = id, width
		return b.SVG()
	}, b.ID)
}

// MostShares is how many shares a chart shows; the others are added up.
const MostShares = 6

// ClassOf returns the class of a status in the style sheet.
func ClassOf(status string) string {
	if show.Mark(status) == "?" {
		return "s-unknown"
	}
	return "s-" + strings.ToLower(status)
}

// TimeOf converts a time of the API; the zero time for 0.
func TimeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

package jobpages

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/advise"
	"github.com/batchctl/batchctl/pkg/batch"
	commands "github.com/batchctl/batchctl/pkg/cli/diagnose"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/usage"
)

const (
	// mostRecorded is how many recorded attempts of a job or an array are read. batchctl records 500 children of an array.
	mostRecorded = 5000
	// mostMeasured is how many attempts the page of a job shows.
	mostMeasured = 100
	// recordAge is how old the answers about the record may be. The record has up to 32 MiB.
	recordAge = 5 * time.Second
)

// MeasuredView is what the pages show of the recorded attempts of a job or an array.
type MeasuredView struct {
	ID string
	// IsArray selects figures over all children in place of a row for each attempt.
	IsArray bool
	// Attempts counts the recorded attempts, and Measured those with figures.
	Attempts, Measured int
	Rows               []measuredRow
	More               int // attempts that have no row
	Figures            []measuredFigure
}

// measuredRow is what one container of an attempt used.
type measuredRow struct {
	Attempt, Container, Status string
	// Seconds is how long the program ran, CPUSeconds the time of all processors; "" is unmeasured.
	Seconds, CPUSeconds string
	Memory, CPUs        amountOf
	// Read and Written are what it transferred from and to block devices.
	Read, Written string
	GPUs          []string
}

// amountOf is what was used of a request.
type amountOf struct {
	Used, Requested string // "" is unknown
	// Part is the used share in per cent, for a bar; -1 without one.
	Part int
}

// measuredFigure is a figure over the children of an array.
type measuredFigure struct {
	Name, Requested, P50, P95, Max string
	Children                       int
	Part                           int // of the maximum in the request, in per cent; -1 for none
}

// AttemptsOf returns the recorded attempts of a job or an array, the newest first.
func AttemptsOf(ctx context.Context, c *source.Source, id string) ([]history.Attempt, error) {
	o := commands.HistoryOptions{Options: c.About("history", id), Limit: mostRecorded}
	rows, err := source.Ask(ctx, c.Commands, recordAge, source.Question[[]commands.AttemptRow]{
		Words: []string{"history", id, "--limit", strconv.Itoa(mostRecorded)},
		Run: func(_ context.Context, con *term.Console) ([]commands.AttemptRow, error) {
			return commands.History(con, o)
		}})
	all := make([]history.Attempt, len(rows))
	for i, row := range rows {
		all[i] = row.Attempt
	}
	return all, err
}

// measuredPart shows what the attempts of a job or an array used.
func (s *Jobs) measuredPart(r *http.Request) (page.Page, error) {
	id := r.PathValue("id")
	p := page.Page{Template: "measured", Part: true}
	all, err := AttemptsOf(r.Context(), s.Source, id)
	if err != nil {
		return p, err
	}
	p.Body = MeasuredOf(id, all)
	return p, nil
}

// MeasuredOf returns the view of attempts. They are those of an array if one of them is a child of it.
func MeasuredOf(id string, all []history.Attempt) MeasuredView {
	v := MeasuredView{ID: id, Attempts: len(all)}
	for _, a := range all {
		v.IsArray = v.IsArray || isChildOf(a, id)
		if len(a.Usage) > 0 {
			v.Measured++
		}
	}
	if v.IsArray {
		v.Figures = figuresOf(lastOfChildren(id, all))
		return v
	}
	for _, a := range slices.Backward(all) { // the first attempt is the first row
		if len(v.Rows) >= mostMeasured {
			v.More++
			continue
		}
		for _, u := range a.Usage {
			v.Rows = append(v.Rows, rowOf(a, u))
		}
	}
	return v
}

// isChildOf reports whether an attempt is of a child of an array.
func isChildOf(a history.Attempt, id string) bool {
	array, _, ok := batch.SplitChildID(a.Job)
	return ok && array == id
}

// lastOfChildren returns the newest measured attempt of each child.
func lastOfChildren(id string, all []history.Attempt) map[int]history.Attempt {
	last := map[int]history.Attempt{}
	for _, a := range all { // the newest first
		_, index, _ := batch.SplitChildID(a.Job)
		if _, known := last[index]; !known && isChildOf(a, id) && len(a.Usage) > 0 {
			last[index] = a
		}
	}
	return last
}

// rowOf returns the row of a container.
func rowOf(a history.Attempt, u usage.Usage) measuredRow {
	row := measuredRow{Attempt: strconv.Itoa(a.Number), Container: show.Text(u.Container), Status: string(a.Status),
		Memory: memoryOf(a, u), CPUs: processorsOf(a, u), Read: bytesText(u.BytesRead),
		Written: bytesText(u.BytesWritten)}
	if u.Seconds > 0 {
		row.Seconds = show.Seconds(u.Seconds)
	}
	if u.CPUSeconds != nil {
		row.CPUSeconds = fmt.Sprintf("%.4g s", *u.CPUSeconds)
	}
	for _, g := range u.GPUs {
		text := fmt.Sprintf("%s: %s of %s", g.Name, bytesText(&g.PeakMemory), bytesText(&g.Memory))
		if g.Utilization != nil {
			text += fmt.Sprintf(", %.0f %% busy", 100**g.Utilization)
		}
		row.GPUs = append(row.GPUs, show.Text(text))
	}
	return row
}

// memoryOf returns the peak memory of a container against its limit, or else the request of the attempt.
func memoryOf(a history.Attempt, u usage.Usage) amountOf {
	limit := float64(a.Requested.MemoryMiB)
	v := amountOf{Used: bytesText(u.PeakMemory), Part: -1}
	if u.MemoryLimit != nil && *u.MemoryLimit > 0 && (len(a.Usage) > 1 || limit <= 0) {
		limit = float64(*u.MemoryLimit) / advise.MiB
	}
	if limit > 0 {
		v.Requested = advise.SizeText(limit)
		if u.PeakMemory != nil {
			v.Part = percent(float64(*u.PeakMemory)/advise.MiB, limit)
		}
	}
	return v
}

// processorsOf returns the mean number of busy processors of a container against the vCPUs of the attempt.
func processorsOf(a history.Attempt, u usage.Usage) amountOf {
	v := amountOf{Part: -1}
	if a.Requested.VCPUs > 0 {
		v.Requested = advise.CPUsText(a.Requested.VCPUs)
	}
	if busy, ok := busyOf(u); ok {
		v.Used = advise.CPUsText(busy)
		if a.Requested.VCPUs > 0 {
			v.Part = percent(busy, a.Requested.VCPUs)
		}
	}
	return v
}

// busyOf returns the mean number of busy processors.
func busyOf(u usage.Usage) (float64, bool) {
	if u.CPUSeconds == nil || u.Seconds <= 0 {
		return 0, false
	}
	return *u.CPUSeconds / u.Seconds, true
}

// percent returns a share of a whole for a bar, 0 to 100.
func percent(part, whole float64) int { return int(min(100, max(0, 100*part/whole))) }

// bytesText is a number of bytes for people; "" for nil.
func bytesText(n *int64) string {
	if n == nil {
		return ""
	}
	return text.Size(*n)
}

// measures are the figures over the children of an array: as a column of numbers in a unit, and as text.
var measures = []struct {
	name, unit string
	of         func(usage.Usage) (float64, bool)
	text       func(float64) string
	requested  func(history.Resources) float64 // nil for a figure without a request
}{
	{"peak memory", "MiB", func(u usage.Usage) (float64, bool) { return mebibytes(u.PeakMemory) }, advise.SizeText,
		func(r history.Resources) float64 { return float64(r.MemoryMiB) }},
	{"busy CPUs", "", busyOf, advise.CPUsText, func(r history.Resources) float64 { return r.VCPUs }},
	{"measured time", "s", func(u usage.Usage) (float64, bool) { return u.Seconds, u.Seconds > 0 }, show.Seconds, nil},
	{"read", "MiB", func(u usage.Usage) (float64, bool) { return mebibytes(u.BytesRead) }, advise.SizeText, nil},
	{"written", "MiB", func(u usage.Usage) (float64, bool) { return mebibytes(u.BytesWritten) }, advise.SizeText, nil},
	{"GPU memory", "MiB", func(u usage.Usage) (float64, bool) {
		most := int64(0)
		for _, g := range u.GPUs {
			most = max(most, g.PeakMemory)
		}
		return float64(most) / advise.MiB, len(u.GPUs) > 0
	}, advise.SizeText, nil},
}

// mebibytes returns a number of bytes in MiB.
func mebibytes(n *int64) (float64, bool) {
	if n == nil {
		return 0, false
	}
	return float64(*n) / advise.MiB, true
}

// figuresOf returns the figures over the children of an array. Of a child with several containers the first counts, as
// in advise.
func figuresOf(last map[int]history.Attempt) (figures []measuredFigure) {
	for _, m := range measures {
		var values []float64
		requested := 0.0
		for _, a := range last {
			if n, ok := m.of(a.Usage[0]); ok {
				values = append(values, n)
			}
			if m.requested != nil {
				requested = max(requested, m.requested(a.Requested))
			}
		}
		use := advise.UseOf(values)
		if use == nil {
			continue
		}
		f := measuredFigure{Name: m.name, P50: m.text(use.P50), P95: m.text(use.P95), Max: m.text(use.Max),
			Children: use.Runs, Part: -1}
		if requested > 0 {
			f.Requested, f.Part = m.text(requested), percent(use.Max, requested)
		}
		figures = append(figures, f)
	}
	return figures
}

// childMeasurements answers with what the children of an array used, by column.
func (s *Arrays) childMeasurements(r *http.Request) (any, error) {
	ctx, id := r.Context(), r.PathValue("id")
	parent, err := s.Describe(ctx, s.Age(), id)
	if err != nil {
		return nil, err
	}
	all, err := AttemptsOf(ctx, s.Source, id)
	if err != nil {
		return nil, err
	}
	return MeasuredColumns(id, all, min(max(batch.ArraySize(parent), 0), mostChildren)), nil
}

// MeasuredColumns returns a column for each figure that a child has.
func MeasuredColumns(id string, all []history.Attempt, size int) []Column {
	last := lastOfChildren(id, all)
	columns := []Column{}
	for _, m := range measures {
		c := Column{Name: strings.TrimSpace(m.name + " " + m.unit), Values: make([]*float64, size), IsMeasured: true}
		found := false
		for index, a := range last {
			if n, ok := m.of(a.Usage[0]); ok && index >= 0 && index < size {
				c.Values[index], found = &n, true
			}
		}
		if found {
			columns = append(columns, c)
		}
	}
	return columns
}

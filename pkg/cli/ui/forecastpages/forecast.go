package forecastpages

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	commands "github.com/batchctl/batchctl/pkg/cli/forecast"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/ui/chart"
)

const (
	// forecastAge is how old a forecast may be. It reads the jobs of a queue, which takes some requests.
	forecastAge = time.Minute
	// mostGroups and mostUnknown are how many shares or teams, and notes, a page shows.
	mostGroups  = 100
	mostUnknown = 20
)

// patchView is a change as a page shows it.
type patchView struct {
	IsPlatform bool // for the platform file
	Text       string
}

// patchViews returns a change for the files of apply and for the platform file as pages show it. Empty ones are absent.
func patchViews(patch, platformPatch map[string]any) (list []patchView) {
	for _, v := range []patchView{{false, patchText(patch)}, {true, patchText(platformPatch)}} {
		if v.Text != "" {
			list = append(list, v)
		}
	}
	return list
}

// outlookView is a forecast, and that of a proposed change beside it.
type outlookView struct {
	IsProposed bool
	Charts     []titledChart
	Tables     []groupTable
	Figures    []figureView // Good is the figure now, Bad the one after the change
	Costs      []string
	Patches    []patchView
	Unknown    []string
	// Accuracy says how good the earlier forecasts for the queue were; "" if that is unknown.
	Accuracy string
	IsPoor   bool // they cannot be relied on
	// Command shows the same in a terminal.
	Command string
}

// figureView is a figure now and after a proposed change, as text.
type figureView struct{ Name, Good, Bad string }

// titledChart is a chart with its heading.
type titledChart struct{ Title, SVG string }

// groupTable is the figures of shares or of teams.
type groupTable struct {
	Head string
	Rows []groupRow
	More int // groups that are not shown
}

// groupRow has the figures of one share or team, in the order of forecast.Group.Cells.
type groupRow struct {
	Name  string
	Cells []groupCell
}

// groupCell is a figure now and after a proposed change; Next is "" where nothing changes.
type groupCell struct{ Now, Next string }

// forecastOf returns the view of a forecast.
func forecastOf(d commands.OutlookDocument, command string) outlookView {
	v := outlookView{IsProposed: d.Proposed != nil, Command: command}
	next := forecast.Outlook{}
	if d.Proposed != nil {
		next = *d.Proposed
	}
	v.Charts = useCharts("forecast", "", d.Outlook)
	if d.Proposed != nil {
		v.Charts = append(useCharts("forecast", " now", d.Outlook), useCharts("proposed", " after the change", next)...)
	}
	v.Tables = append(v.Tables, tableOf("share", d.Outlook.Groups, next.Groups, v.IsProposed))
	if len(d.Outlook.Teams) > 0 {
		v.Tables = append(v.Tables, tableOf("team", d.Outlook.Teams, next.Teams, v.IsProposed))
	}
	for _, f := range forecast.Figures {
		figure := figureView{Name: f.Name, Good: f.Text(d.Outlook)}
		if d.Proposed != nil {
			figure.Bad = f.Text(next)
		}
		v.Figures = append(v.Figures, figure)
	}
	if d.Proposed == nil {
		next = d.Outlook
	}
	for _, text := range slices.Concat(d.NoEffect, next.NeverTexts()) {
		v.Costs = append(v.Costs, show.Text(text))
	}
	for _, c := range d.Costs {
		v.Costs = append(v.Costs, show.Text(c.Text()))
	}
	v.Costs = v.Costs[:min(len(v.Costs), mostGroups)]
	v.Patches = patchViews(d.Patch, d.PlatformPatch)
	for _, text := range d.Unknown[:min(len(d.Unknown), mostUnknown)] {
		v.Unknown = append(v.Unknown, show.Text(text))
	}
	return v
}

// patchText returns a change as it goes into a file; "" without one.
func patchText(patch map[string]any) string {
	if len(patch) == 0 {
		return ""
	}
	text, err := json.MarshalIndent(patch, "", "  ")
	if err != nil {
		return "" // it was decoded from JSON
	}
	return show.Lines(string(text))
}

// useCharts draws the vCPUs of the largest shares with a band.
func useCharts(id, suffix string, o forecast.Outlook) (charts []titledChart) {
	var times []time.Time
	for _, at := range o.Times {
		times = append(times, time.UnixMilli(at))
	}
	groups := slices.Clone(o.Groups)
	slices.SortStableFunc(groups, func(a, b forecast.Group) int { return b.Jobs - a.Jobs })
	for i, g := range groups[:min(len(groups), page.MostShares)] {
		title := "vCPUs of share " + show.Text(g.Name) + suffix
		used := g.Used[:min(len(g.Used), len(times))]
		a := chart.Area{ID: fmt.Sprintf("%s-%d", id, i), Title: title, Unit: "vCPUs", Height: 220,
			Times: times[:len(used)], Series: chart.BandSeries(forecast.Limits(used))}
		charts = append(charts, titledChart{title, page.Area(a)})
	}
	return charts
}

// tableOf returns the figures of groups now, and after a change.
func tableOf(head string, now, next []forecast.Group, isProposed bool) groupTable {
	byName := func(list []forecast.Group) map[string]forecast.Group {
		all := map[string]forecast.Group{}
		for _, g := range list {
			all[g.Name] = g
		}
		return all
	}
	before, after := byName(now), byName(next)
	names := maps.Clone(before)
	maps.Copy(names, after)
	t := groupTable{Head: head}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if len(t.Rows) == mostGroups {
			t.More = len(names) - mostGroups
			break
		}
		row := groupRow{Name: show.Text(name)}
		then := after[name].Cells()
		for i, cell := range before[name].Cells() {
			if !isProposed || then[i] == cell {
				then[i] = ""
			}
			row.Cells = append(row.Cells, groupCell{cell, then[i]})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Forecasts show forecasts: for a queue, for a job file, and for proposed changes.
type Forecasts struct{ *source.Source }

// Routes are the addresses of the group.
func (s *Forecasts) Routes() page.Routes {
	return page.Routes{
		Pages: map[string]func(*http.Request) (page.Page, error){
			"/queues/{name}/forecast": s.forecastPart,
			"/queues/{name}/when":     s.whenPart,
			"/reports/whatif":         s.whatIfPage,
			"/reports/sizing":         s.sizingPage,
			"/reports/accuracy":       s.accuracyPage,
		},
	}
}

// forecastPart shows what the next hours of a queue bring.
func (s *Forecasts) forecastPart(r *http.Request) (page.Page, error) {
	name := r.PathValue("name")
	p := page.Page{Template: "outlook", Part: true}
	d, err := s.outlook(r.Context(), s.proposalFor(name))
	if err != nil {
		return p, err
	}
	v := forecastOf(d, show.Text(s.Commands.Line("forecast", name)))
	past, err := s.accuracy(r.Context(), name)
	if err != nil {
		v.Unknown = append(v.Unknown, show.Text(fmt.Sprintf("the accuracy of earlier forecasts is unknown: %v", err)))
	}
	for _, a := range past {
		if a.Queue == name && a.Forecasts > 0 {
			v.Accuracy, v.IsPoor = accuracyText(a), a.Poor
		}
	}
	p.Body = v
	return p, nil
}

// accuracy returns how good the earlier forecasts for queues were, or for all.
func (s *Forecasts) accuracy(ctx context.Context, queues ...string) ([]forecast.Accuracy, error) {
	o := commands.Options{Options: s.About("forecast", queues...)}
	return source.Ask(ctx, s.Commands, forecastAge, source.Question[[]forecast.Accuracy]{
		Words: append([]string{"forecast", "--accuracy"}, queues...),
		Run: func(ctx context.Context, con *term.Console) ([]forecast.Accuracy, error) {
			return commands.Accuracy(ctx, con, o)
		}})
}

// accuracyText says how good the forecasts for a queue were.
func accuracyText(a forecast.Accuracy) string {
	cells := a.Cells()
	later := cells[3] + " later"
	if early, ok := strings.CutPrefix(cells[3], "-"); ok {
		later = early + " earlier"
	}
	return fmt.Sprintf("Of %d earlier forecasts, %s were right: the job started within the 80 %% interval. The median job started %s than forecast.", a.Forecasts, cells[2], later)
}

// accuracyPage compares earlier forecasts of all queues with what happened.
func (s *Forecasts) accuracyPage(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "accuracy", Title: "Accuracy of forecasts", Section: "reports"}
	list, err := s.accuracy(r.Context())
	if err != nil {
		return p, err
	}
	type row struct {
		Queue, Name string
		IsPoor      bool
		Cells       []string
	}
	v := struct {
		Rows    []row
		More    int
		Poor    []string
		Command string
	}{More: max(len(list)-mostGroups, 0), Command: show.Text(s.Commands.Line("forecast", "--accuracy"))}
	for _, a := range list[:len(list)-v.More] {
		v.Rows = append(v.Rows, row{a.Queue, show.Text(a.Queue), a.Poor, a.Cells()})
		if a.Poor {
			v.Poor = append(v.Poor, show.Text(a.Queue))
		}
	}
	p.Body = v
	return p, nil
}

// whenView is when the jobs of a file would start.
type whenView struct {
	// Name is the queue of the page, and Job the chosen one of the Files.
	Name, Job string
	Files     []string
	Lines     []whenLine
	// Command shows the same in a terminal.
	Command string
}

// whenLine is the forecast for the jobs of one queue.
type whenLine struct {
	Queue, Text string
	Sources     []string
	Unknown     []string
}

// whenPart shows when the jobs of a file would start if they were submitted now.
func (s *Forecasts) whenPart(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "when", Part: true}
	v := whenView{Name: r.PathValue("name"), Job: r.FormValue("job"), Files: jobFiles(".")}
	p.Body = v
	if v.Job == "" {
		return p, nil
	}
	path, err := s.jobFile(v.Job)
	if err != nil {
		return p, err
	}
	v.Command = show.Text(s.Commands.Line("plan", path, "--when"))
	d, err := source.Ask(r.Context(), s.Commands, forecastAge, s.starts(path))
	if err != nil {
		return p, err
	}
	for _, a := range d.When[:min(len(d.When), mostGroups)] {
		line := whenLine{Queue: show.Text(a.Queue), Text: show.Text(preview.WhenLine(a))}
		for _, source := range slices.Sorted(maps.Keys(a.Sources)) {
			line.Sources = append(line.Sources, show.Text(fmt.Sprintf("%d from %s", a.Sources[source], source)))
		}
		for _, text := range a.Unknown[:min(len(a.Unknown), mostUnknown)] {
			line.Unknown = append(line.Unknown, show.Text(text))
		}
		v.Lines = append(v.Lines, line)
	}
	p.Body = v
	return p, nil
}

// starts are when the jobs of a plan start.
type starts struct {
	When []forecast.Answer `json:"when"`
}

// starts asks when the jobs of a file would start.
func (s *Forecasts) starts(path string) source.Question[starts] {
	o := preview.PlanOptions{When: true}
	o.Given, o.Target = s.About("plan", path).Given, s.Options.Target
	return source.Question[starts]{Words: []string{"plan", path, "--when"},
		Run: func(ctx context.Context, con *term.Console) (v starts, err error) {
			planned, err := preview.Plan(ctx, con, o)
			if planned != nil {
				v.When = planned.Review.When
			}
			return v, err
		}}
}

// jobFile returns the path of a job file that the pages list.
func (s *Forecasts) jobFile(name string) (string, error) {
	if !slices.Contains(jobFiles("."), name) {
		return "", page.BadRequest(fmt.Errorf("%s is not a job file below this directory", show.Text(name)))
	}
	return filepath.FromSlash(name), nil
}

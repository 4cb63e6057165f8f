package ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/stable"
	"github.com/batchctl/batchctl/pkg/ui/chart"
)

const (
	// forecastAge is how old a forecast may be. It reads the jobs of a queue, which takes some requests.
	forecastAge = time.Minute
	// mostGroups and mostUnknown are how many shares or teams, and notes, a page shows.
	mostGroups  = 100
	mostUnknown = 20
)

// outlookDocument is the part of what `batchctl forecast --output json` prints that the pages show.
type outlookDocument struct {
	Outlook  forecast.Outlook  `json:"outlook"`
	Proposed *forecast.Outlook `json:"proposed"`
	patches
	Costs []struct {
		Share  string  `json:"share"`
		WaitMs float64 `json:"waitMs"`
	} `json:"costsOthers"`
	Unknown []string `json:"unknown"`
}

// patches are a change for the files of apply, and for the platform file. Empty ones are absent.
type patches struct {
	Patch         map[string]any `json:"patch"`
	PlatformPatch map[string]any `json:"platformPatch"`
}

// patchView is a change as a page shows it.
type patchView struct {
	IsPlatform bool // for the platform file
	Text       string
}

// views returns the changes as pages show them.
func (p patches) views() (list []patchView) {
	for _, v := range []patchView{{false, patchText(p.Patch)}, {true, patchText(p.PlatformPatch)}} {
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
func forecastOf(d outlookDocument, command string) outlookView {
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
	for _, c := range d.Costs[:min(len(d.Costs), mostGroups)] {
		v.Costs = append(v.Costs, shown(fmt.Sprintf("this costs share %s %s: its jobs wait that much longer on average", c.Share, forecast.WaitText(c.WaitMs))))
	}
	v.Patches = d.views()
	for _, text := range d.Unknown[:min(len(d.Unknown), mostUnknown)] {
		v.Unknown = append(v.Unknown, shown(text))
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
	return shownLines(string(text))
}

// useCharts draws the vCPUs of the largest shares with a band.
func useCharts(id, suffix string, o forecast.Outlook) (charts []titledChart) {
	var times []time.Time
	for _, at := range o.Times {
		times = append(times, time.UnixMilli(at))
	}
	groups := slices.Clone(o.Groups)
	stable.Sort(groups, func(a, b forecast.Group) int { return b.Jobs - a.Jobs })
	for i, g := range groups[:min(len(groups), mostShares)] {
		title := "vCPUs of share " + shown(g.Name) + suffix
		used := g.Used[:min(len(g.Used), len(times))]
		a := chart.Area{ID: fmt.Sprintf("%s-%d", id, i), Title: title, Unit: "vCPUs", Height: 220, Times: times[:len(used)], Series: chart.BandSeries(forecast.Limits(used))}
		charts = append(charts, titledChart{title, area(a)})
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
		row := groupRow{Name: shown(name)}
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

// forecastPart shows what the next hours of a queue bring.
func (s *server) forecastPart(r *http.Request) (page, error) {
	name := r.PathValue("name")
	p := page{Template: "outlook", Part: true}
	if strings.HasPrefix(name, "-") {
		return p, badRequest{fmt.Errorf("%s is not a queue", name)}
	}
	d, err := askJSON[outlookDocument](r.Context(), s.c, forecastAge, "forecast", name, "--output", "json")
	if err != nil {
		return p, err
	}
	v := forecastOf(d, shown(s.c.line("forecast", name)))
	past, err := askJSON[[]forecast.Accuracy](r.Context(), s.c, forecastAge, "forecast", "--accuracy", name, "--output", "json")
	if err != nil {
		v.Unknown = append(v.Unknown, shown(fmt.Sprintf("how good earlier forecasts were: %v", err)))
	}
	for _, a := range past {
		if a.Queue == name && a.Forecasts > 0 {
			v.Accuracy, v.IsPoor = accuracyText(a), a.Poor
		}
	}
	p.Body = v
	return p, nil
}

// accuracyText says how good the forecasts for a queue were.
func accuracyText(a forecast.Accuracy) string {
	cells := a.Cells()
	later := cells[3] + " later"
	if early, ok := strings.CutPrefix(cells[3], "-"); ok {
		later = early + " earlier"
	}
	return fmt.Sprintf("Of %d earlier forecasts, %s were right: those jobs started in their 80 %% interval. In the median, jobs started %s than forecast.", a.Forecasts, cells[2], later)
}

// accuracyPage compares earlier forecasts of all queues with what happened.
func (s *server) accuracyPage(r *http.Request) (page, error) {
	p := page{Template: "accuracy", Title: "Accuracy of forecasts", Section: "reports"}
	list, err := askJSON[[]forecast.Accuracy](r.Context(), s.c, forecastAge, "forecast", "--accuracy", "--output", "json")
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
	}{More: max(len(list)-mostGroups, 0), Command: shown(s.c.line("forecast", "--accuracy"))}
	for _, a := range list[:len(list)-v.More] {
		v.Rows = append(v.Rows, row{a.Queue, shown(a.Queue), a.Poor, a.Cells()})
		if a.Poor {
			v.Poor = append(v.Poor, shown(a.Queue))
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
func (s *server) whenPart(r *http.Request) (page, error) {
	p := page{Template: "when", Part: true}
	v := whenView{Name: r.PathValue("name"), Job: r.FormValue("job"), Files: findReports(s.options.files).JobFiles}
	p.Body = v
	if v.Job == "" {
		return p, nil
	}
	path, err := s.jobFile(v.Job)
	if err != nil {
		return p, err
	}
	v.Command = shown(s.c.line("plan", path, "--when"))
	d, err := askDiffer[struct {
		When []forecast.Answer `json:"when"`
	}](r.Context(), s.c, forecastAge, "plan", path, "--when", "--output", "json")
	if err != nil {
		return p, err
	}
	for _, a := range d.When[:min(len(d.When), mostGroups)] {
		line := whenLine{Queue: shown(a.Queue), Text: shown(preview.WhenLine(a))}
		for _, source := range slices.Sorted(maps.Keys(a.Sources)) {
			line.Sources = append(line.Sources, shown(fmt.Sprintf("%d from %s", a.Sources[source], source)))
		}
		for _, text := range a.Unknown[:min(len(a.Unknown), mostUnknown)] {
			line.Unknown = append(line.Unknown, shown(text))
		}
		v.Lines = append(v.Lines, line)
	}
	p.Body = v
	return p, nil
}

// jobFile returns the path of a job file that the pages list.
func (s *server) jobFile(name string) (string, error) {
	if !slices.Contains(findReports(s.options.files).JobFiles, name) {
		return "", badRequest{fmt.Errorf("%s is not a job file below %s", shown(name), s.FilesDirectory())}
	}
	return filepath.Join(s.options.files, name), nil
}

// whatIf is the form of a proposed change. All members are as typed; "" changes nothing.
type whatIf struct {
	Queue, Environment, MaxvCpus, Types, Share, File, Count, Reclaims string
	// Type is EC2 or SPOT. Policy can be none, fair or a file. Weight is the factor of a share, such as vision:0.5.
	Type, Policy, Weight string
}

// whatIfView is what the page about proposed changes shows.
type whatIfView struct {
	whatIf
	Queues, Environments, Files, Policies []string
	Outlook                               *outlookView
}

// whatIfPage shows what a change of a queue would do. It changes nothing.
func (s *server) whatIfPage(r *http.Request) (page, error) {
	p := page{Template: "whatif", Title: "What if", Section: "reports"}
	v := whatIfView{whatIf: whatIf{Queue: r.FormValue("queue"), Environment: r.FormValue("environment"), MaxvCpus: strings.TrimSpace(r.FormValue("max")), Types: strings.TrimSpace(r.FormValue("types")),
		Share: strings.TrimSpace(r.FormValue("share")), File: r.FormValue("file"), Count: strings.TrimSpace(r.FormValue("count")), Reclaims: strings.TrimSpace(r.FormValue("reclaims")),
		Type: r.FormValue("type"), Policy: r.FormValue("policy"), Weight: strings.TrimSpace(r.FormValue("weight"))}}
	snapshot, err := s.o.latest(r.Context())
	if err != nil {
		return p, err
	}
	for _, q := range snapshot.Queues {
		v.Queues = append(v.Queues, q.Name)
		for _, e := range q.Environments {
			if !slices.Contains(v.Environments, e.Name) {
				v.Environments = append(v.Environments, e.Name)
			}
		}
	}
	found := findReports(s.options.files)
	v.Files, v.Policies = found.JobFiles, found.Policies
	proposed, err := s.proposed(v)
	if err != nil {
		return p, badRequest{err}
	}
	if len(proposed) > 0 {
		args := append([]string{"forecast"}, proposed...)
		if v.Queue != "" {
			args = append(args, v.Queue)
		}
		d, err := askJSON[outlookDocument](r.Context(), s.c, forecastAge, append(args, "--output", "json")...)
		if err != nil {
			return p, err
		}
		outlook := forecastOf(d, shown(s.c.line(args...)))
		v.Outlook = &outlook
	}
	p.Body = v
	return p, nil
}

// proposed returns the flags of forecast for the form; none if it proposes nothing.
func (s *server) proposed(v whatIfView) (flags []string, err error) {
	if v.Queue != "" && !slices.Contains(v.Queues, v.Queue) {
		return nil, fmt.Errorf("queue %s: choose one of the target's", shown(v.Queue))
	}
	if v.MaxvCpus+v.Types+v.Type != "" && !slices.Contains(v.Environments, v.Environment) {
		return nil, fmt.Errorf("choose the compute environment to change")
	}
	if v.MaxvCpus != "" {
		n, err := strconv.Atoi(v.MaxvCpus)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("maxvCpus %s: want a whole number", shown(v.MaxvCpus))
		}
		flags = append(flags, fmt.Sprintf("--set=%s.maxvCpus=%d", v.Environment, n))
	}
	for _, name := range strings.FieldsFunc(v.Types, func(r rune) bool { return r == ',' || r == ' ' }) {
		flags = append(flags, fmt.Sprintf("--set=%s.instanceTypes+=%s", v.Environment, name))
	}
	if v.Type != "" {
		if v.Type != "EC2" && v.Type != "SPOT" {
			return nil, fmt.Errorf("type %s: want EC2 or SPOT", shown(v.Type))
		}
		flags = append(flags, fmt.Sprintf("--set=%s.type=%s", v.Environment, v.Type))
	}
	policy, err := s.proposedPolicy(v)
	if err != nil {
		return nil, err
	}
	flags = append(flags, policy...)
	if v.Share != "" {
		flags = append(flags, "--without-share="+v.Share)
	}
	if v.Reclaims != "" {
		n, err := strconv.ParseFloat(v.Reclaims, 64)
		if err != nil {
			return nil, fmt.Errorf("reclaims %s: want a number", shown(v.Reclaims))
		}
		flags = append(flags, "--spot-reclaims="+strconv.FormatFloat(n, 'g', -1, 64))
	}
	if v.File == "" {
		return flags, nil
	}
	path, err := s.jobFile(v.File)
	if err != nil {
		return nil, err
	}
	n := 1
	if v.Count != "" {
		if n, err = strconv.Atoi(v.Count); err != nil || n < 1 {
			return nil, fmt.Errorf("count %s: want a whole number from 1", shown(v.Count))
		}
	}
	return append(flags, fmt.Sprintf("--add-jobs=%s*%d", path, n)), nil
}

// proposedPolicy returns the flags of forecast for the scheduling policy of the form.
func (s *server) proposedPolicy(v whatIfView) (flags []string, err error) {
	if v.Policy+v.Weight == "" {
		return nil, nil
	}
	queue := v.Queue
	if queue == "" && len(v.Queues) == 1 {
		queue = v.Queues[0]
	}
	if queue == "" {
		return nil, fmt.Errorf("choose the queue whose policy changes")
	}
	switch {
	case v.Policy == "":
	case v.Policy == "none" || v.Policy == "fair":
		flags = append(flags, fmt.Sprintf("--set=%s.schedulingPolicy=%s", queue, v.Policy))
	case slices.Contains(v.Policies, v.Policy):
		flags = append(flags, "--policy="+filepath.Join(s.options.files, v.Policy))
	default:
		return nil, fmt.Errorf("%s is not a scheduling policy below %s", shown(v.Policy), s.FilesDirectory())
	}
	if v.Weight != "" {
		share, text, ok := strings.Cut(v.Weight, ":")
		if _, err := strconv.ParseFloat(text, 64); err != nil || !ok || share == "" {
			return nil, fmt.Errorf("weight %s: want a share and its factor, such as vision:0.5", shown(v.Weight))
		}
		flags = append(flags, fmt.Sprintf("--set=%s.weightFactor=%s", queue, v.Weight))
	}
	return flags, nil
}

// sizingDocument is the part of what `batchctl forecast --replay --output json` prints that the page shows.
type sizingDocument struct {
	Jobs      int               `json:"jobs"`
	Skipped   map[string]int    `json:"skipped"`
	Waited    []int64           `json:"waitedMs"`
	MaxWaitMs int64             `json:"maxWaitMs"`
	Tried     int               `json:"tried"`
	Sets      []forecast.Sizing `json:"sets"`
	patches
}

// sizingView is what the page of the sizing report shows.
type sizingView struct {
	Queue, Trace, MaxWait   string
	Queues, Traces, Choices []string
	// Verdict names the cheapest set of queues; "" before a trace was chosen.
	Verdict, Searched, Jobs, Waited, Command string
	Skipped                                  []string
	Rows                                     [][]string
	Cost, Wait                               string // charts; "" if all are 0
	Patches                                  []patchView
}

// maxWaits are the choices for the limit of waiting.
var maxWaits = []string{"5m", "15m", "30m", "1h", "2h", "8h", "24h"}

// mostSets is how many sets of queues the page shows.
const mostSets = 50

// sizingPage runs a trace against sets of queues.
func (s *server) sizingPage(r *http.Request) (page, error) {
	p := page{Template: "sizing", Title: "Sizing report", Section: "reports"}
	v := sizingView{Queue: r.FormValue("queue"), Trace: r.FormValue("trace"), MaxWait: r.FormValue("wait"), Choices: maxWaits}
	snapshot, err := s.o.latest(r.Context())
	if err != nil {
		return p, err
	}
	for _, q := range snapshot.Queues {
		v.Queues = append(v.Queues, q.Name)
	}
	v.Traces = append([]string{"history"}, findReports(s.options.files).Traces...)
	if v.MaxWait == "" {
		v.MaxWait = "30m"
	}
	switch {
	case v.Queue != "" && !slices.Contains(v.Queues, v.Queue):
		return p, badRequest{fmt.Errorf("queue %s: choose one of the target's", v.Queue)}
	case !slices.Contains(maxWaits, v.MaxWait):
		return p, badRequest{fmt.Errorf("limit %s: choose one of %s", v.MaxWait, strings.Join(maxWaits, ", "))}
	case v.Trace != "" && !slices.Contains(v.Traces, v.Trace):
		return p, badRequest{fmt.Errorf("trace %s: choose history, or a file below %s", v.Trace, s.FilesDirectory())}
	case v.Trace != "" && v.Trace != "history" && v.Queue == "" && len(v.Queues) > 1:
		return p, badRequest{fmt.Errorf("choose the queue for the jobs of %s", shown(v.Trace))}
	}
	if v.Trace != "" {
		trace := v.Trace
		if trace != "history" {
			trace = filepath.Join(s.options.files, trace)
		}
		args := []string{"forecast", "--replay=" + trace, "--max-wait=" + v.MaxWait}
		if v.Queue != "" {
			args = append(args, v.Queue)
		}
		d, err := askJSON[sizingDocument](r.Context(), s.c, forecastAge, append(args, "--output", "json")...)
		if err != nil {
			return p, err
		}
		v.Command = shown(s.c.line(args...))
		v.fill(d)
	}
	p.Body = v
	return p, nil
}

// fill adds the report.
func (v *sizingView) fill(d sizingDocument) {
	v.Verdict, v.Searched, v.Jobs, v.Patches = shown(forecast.Verdict(d.Sets, d.MaxWaitMs)), forecast.Searched(d.Tried), term.Plural(d.Jobs, "job"), d.views()
	if len(d.Waited) == 2 {
		v.Waited = fmt.Sprintf("In the trace, the jobs waited %s in the median, 95 %% of them at most %s.", forecast.WaitText(float64(d.Waited[0])), forecast.WaitText(float64(d.Waited[1])))
	}
	for _, why := range slices.Sorted(maps.Keys(d.Skipped)) {
		v.Skipped = append(v.Skipped, shown(term.Plural(d.Skipped[why], "row")+" skipped: "+why))
	}
	cost, wait := chart.BarGroup{}, chart.BarGroup{}
	for _, set := range d.Sets[:min(len(d.Sets), mostSets)] {
		row := set.Cells()
		for i := range row {
			row[i] = shown(row[i])
		}
		v.Rows = append(v.Rows, row)
		usd := set.Outlook.CostUSD
		cost.Bars = append(cost.Bars, chart.Bar{Name: row[0], Value: usd.Median, Low: usd.Low, High: usd.High, Class: "share-0"})
		wait.Bars = append(wait.Bars, chart.Bar{Name: row[0], Value: set.P95Ms / 60_000, Class: "share-1", Text: row[2]})
	}
	isPositive := func(b chart.Bar) bool { return b.Value > 0 }
	if slices.ContainsFunc(cost.Bars, isPositive) { // the local engine costs nothing
		v.Cost = bars(chart.Bars{ID: "cost", Title: "Cost of each set", Unit: "USD", Groups: []chart.BarGroup{cost}})
	}
	if slices.ContainsFunc(wait.Bars, isPositive) {
		v.Wait = bars(chart.Bars{ID: "wait", Title: "Waiting of each set, 95th percentile in minutes", Unit: "min", Groups: []chart.BarGroup{wait}})
	}
}

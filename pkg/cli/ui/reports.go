package ui

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/doctor"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/heatmap"
	"github.com/batchctl/batchctl/pkg/stable"
	"github.com/batchctl/batchctl/pkg/ui/chart"
	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

// benchmark is the part of a benchmark.json that the pages show.
type benchmark struct {
	// Path is the file, relative to the directory of --files.
	Path       string
	Title      string `json:"title"`
	Comparison struct {
		Base     struct{ Name string }
		Other    struct{ Name string }
		Pairs    []benchmarkPair
		Unpaired []benchmarkUnpaired
		Warnings []string
	} `json:"comparison"`
	Decision *struct {
		Words []string `json:"words"`
	} `json:"decision"`
	Notes []string `json:"notes"`
}

// benchmarkKey names the work of a row.
type benchmarkKey struct {
	Title, Size, Type, Parameters string
	Batch                         int
}

// Name returns the work as one text, such as "Gaussian blur 512x512 batch 2 uint8 sigma 2".
func (k benchmarkKey) Name() string {
	batch := ""
	if k.Batch > 0 {
		batch = "batch " + strconv.Itoa(k.Batch)
	}
	return join(" ", k.Title, k.Size, batch, k.Type, k.Parameters)
}

// benchmarkUnpaired is a row that cannot be compared.
type benchmarkUnpaired struct {
	benchmarkKey
	Reason string
}

// benchmarkPair is a row that both sides measured. Times are in seconds.
type benchmarkPair struct {
	benchmarkKey
	Base, Other *benchmarkSummary
	SpeedUp     struct {
		Value    float64
		Interval *struct{ Low, High float64 }
	}
}

// benchmarkSummary is a sample of times.
type benchmarkSummary struct {
	Repeats          int
	Min, Median, Max float64
}

// reports are the files of a directory that the pages show.
type reports struct {
	Benchmarks []benchmark
	Doctors    []doctorReport
	// JobFiles, Policies and Traces are the paths of job files, of scheduling policies, and of files that a sizing
	// report can read.
	JobFiles, Policies, Traces []string
	// Problem tells why the directory was not read completely.
	Problem string
}

// doctorReport is a recorded report of doctor.
type doctorReport struct {
	Path string
	At   time.Time
	doctor.Report
}

const (
	// reportDepth is how deep below the directory reports are searched.
	reportDepth = 3
	// reportFiles is how many JSON files are read at most, and reportSize the largest.
	reportFiles = 500
	reportSize  = 8 << 20
)

// findReports reads the benchmark reports and doctor reports below a directory.
func findReports(dir string) reports {
	var found reports
	read := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == ".":
			return err
		case err != nil:
			return nil // another user's directory
		case e.IsDir() && path != "." && (strings.HasPrefix(e.Name(), ".") || strings.Count(path, "/") >= reportDepth-1 || e.Name() == "node_modules"):
			return fs.SkipDir
		case e.IsDir() || !e.Type().IsRegular() || strings.HasPrefix(path, "-"):
			return nil
		case slices.Contains([]string{".swf", ".csv"}, filepath.Ext(path)):
			if len(found.Traces) < reportFiles {
				found.Traces = append(found.Traces, path)
			}
			return nil
		case filepath.Ext(path) != ".json":
			return nil
		}
		info, err := e.Info()
		if err != nil || info.Size() > reportSize {
			return nil
		}
		if read++; read > reportFiles {
			found.Problem = fmt.Sprintf("only the first %d JSON files were read; name a smaller directory with --files", reportFiles)
			return fs.SkipAll
		}
		found.add(dir, path, info.ModTime())
		return nil
	})
	if err != nil {
		found.Problem = shown(fmt.Sprintf("read %s: %v", dir, exit.Cause(err)))
	}
	stable.Sort(found.Doctors, func(a, b doctorReport) int { return b.At.Compare(a.At) })
	return found
}

// add adds a file if it is a report.
func (r *reports) add(dir, path string, at time.Time) {
	text, err := os.ReadFile(filepath.Join(dir, path))
	if err != nil {
		return
	}
	var b benchmark
	if json.Unmarshal(text, &b) == nil && len(b.Comparison.Pairs)+len(b.Comparison.Unpaired) > 0 {
		b.Path = path
		r.Benchmarks = append(r.Benchmarks, b)
		return
	}
	var d doctor.Report
	if json.Unmarshal(text, &d) == nil && d.Kind != "" && (len(d.Findings) > 0 || len(d.Unread) > 0) {
		r.Doctors = append(r.Doctors, doctorReport{path, at, d})
		return
	}
	// A policy without members is also any empty object.
	if p, err := forecast.ParsePolicy(text); err == nil && (p.ComputeReservation != nil || p.ShareDecaySeconds != nil || p.ShareDistribution != nil) {
		r.Policies = append(r.Policies, path)
		return
	}
	if isJobFile(path, text) {
		r.JobFiles = append(r.JobFiles, path)
	}
}

// isJobFile reports whether a file has jobs, rather than queues or settings.
func isJobFile(path string, text []byte) bool {
	if filepath.Base(path) == document.FileName || document.Recognize(diag.NewSource(path, string(text))) != document.Ours {
		return false
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // a file with comments is a job file until batchctl reads it
	return !slices.ContainsFunc([]string{"jobQueues", "computeEnvironments", "schedulingPolicies", "jobQueueName", "computeEnvironmentName"}, func(name string) bool { return members[name] != nil })
}

// reportsPage lists the reports.
func (s *server) reportsPage(r *http.Request) (page, error) {
	p := page{Template: "reports", Title: "Reports", Section: "reports"}
	if err := s.awaitJobs(r); err != nil {
		return p, err
	}
	// Arrays are what has results; the newest come first.
	var arrays []joblist.Job
	for _, row := range s.o.jobs.Window(joblist.Query{Count: 1000, Now: time.Now().UnixMilli()}).Rows {
		if row.Job != nil && row.Job.Size > 0 && len(arrays) < 20 {
			arrays = append(arrays, *row.Job)
		}
	}
	p.Body = struct {
		reports
		Arrays []joblist.Job
		Tags   []string
	}{findReports(s.options.files), arrays, s.o.jobs.TagNames()}
	return p, nil
}

// spans are the choices for how far back costs are added up.
var spans = []string{"1d", "7d", "30d"}

// costReport shows what jobs cost, by a tag, workflow or array.
func (s *server) costReport(r *http.Request) (page, error) {
	p := page{Template: "costs", Title: "Cost", Section: "reports"}
	since, by := cmp.Or(r.FormValue("since"), "7d"), cmp.Or(r.FormValue("by"), "workflow")
	if !slices.Contains(spans, since) {
		return p, badRequest{fmt.Errorf("since %s: choose one of %s", since, strings.Join(spans, ", "))}
	}
	if by != "workflow" && by != "array" && by != "job" && !strings.HasPrefix(by, "tag:") {
		return p, badRequest{fmt.Errorf("by %s: choose workflow, array, job or tag:NAME", by)}
	}
	found, err := askJSON[costDocument](r.Context(), s.c, time.Minute, "cost", "--since", since, "--by", by, "--output", "json")
	if err != nil {
		return p, err
	}
	stable.Sort(found.Rows, func(a, b costRow) int { return cmp.Compare(b.Cost.High.USD, a.Cost.High.USD) })
	shownBars := chart.Bars{ID: "costs", Title: "Cost by " + shown(by), Unit: "USD"}
	for i, row := range found.Rows {
		if i == 20 {
			break
		}
		shownBars.Groups = append(shownBars.Groups, chart.BarGroup{Name: shown(row.Name), Bars: []chart.Bar{{Name: "cost", Value: row.Cost.High.USD, Low: row.Cost.Low.USD, High: row.Cost.High.USD,
			Class: "share-0", Text: row.Cost.text()}}})
	}
	drawn := ""
	if found.Total != nil && found.Total.Cost.High.USD > 0 {
		drawn = bars(shownBars)
	}
	p.Body = struct {
		costDocument
		Since, By, Chart string
		Spans            []string
	}{found, since, by, drawn, spans}
	return p, nil
}

// text formats a range as cost does.
func (c costRange) text() string {
	low, high := fmt.Sprintf("%.4g", c.Low.USD), fmt.Sprintf("%.4g", c.High.USD)
	switch {
	case len(c.High.Without) > 0 && c.High.USD == 0:
		return "unknown"
	case len(c.High.Without) > 0:
		return "at least " + low + " USD"
	case low == high:
		return high + " USD"
	}
	return low + " to " + high + " USD"
}

// Text is text, for templates.
func (c costRange) Text() string { return c.text() }

// benchmarkPage shows one benchmark.
func (s *server) benchmarkPage(r *http.Request) (page, error) {
	p := page{Template: "benchmark", Title: "Benchmark", Section: "reports"}
	all := findReports(s.options.files).Benchmarks
	at := slices.IndexFunc(all, func(b benchmark) bool { return b.Path == r.FormValue("file") })
	if at < 0 {
		return p, errNotFound
	}
	return benchmarkView(all[at]), nil
}

// shortTime formats a measured time with three figures: 10.1 µs, 24.9 ms, 1.2 s.
func shortTime(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

// benchmarkView returns the page of a benchmark.
func benchmarkView(b benchmark) page {
	shownBars := chart.Bars{ID: "times", Title: "Median time", Unit: "s"}
	for _, pair := range b.Comparison.Pairs {
		group := chart.BarGroup{Name: shown(pair.Name())}
		for i, side := range []*benchmarkSummary{pair.Base, pair.Other} {
			if side != nil {
				group.Bars = append(group.Bars, chart.Bar{Name: []string{shown(b.Comparison.Base.Name), shown(b.Comparison.Other.Name)}[i], Value: side.Median, Low: side.Min,
					High: side.Max, Class: fmt.Sprintf("share-%d", i), Text: shortTime(side.Median)})
			}
		}
		shownBars.Groups = append(shownBars.Groups, group)
	}
	drawn := ""
	if len(shownBars.Groups) > 0 {
		drawn = bars(shownBars)
	}
	return page{Template: "benchmark", Title: "Benchmark", Section: "reports", Body: struct {
		benchmark
		Chart string
	}{b, drawn}}
}

// resultsView is what the page of an array's results shows.
type resultsView struct {
	ID, Name string
	Columns  []string
	Rows     [][]string
	More     int // rows that are not shown
	// Numeric are the columns that a heat map can show, Value the chosen one.
	Numeric []string
	Value   string
	// Heatmap is the picture; HeatmapProblem tells why there is none.
	Heatmap, HeatmapProblem string
}

// mostResults is how many rows the page of results shows.
const mostResults = 1000

// resultsPage shows the results of an array as a table and a heat map.
func (s *server) resultsPage(r *http.Request) (page, error) {
	id := r.PathValue("id")
	p := page{Template: "results", Title: "Results", Section: "reports"}
	parent, err := s.describe(r.Context(), s.age(), id)
	if err != nil {
		return p, err
	}
	out, err := s.c.ask(r.Context(), 10*time.Second, "results", id, "--output", "json")
	if err != nil {
		return p, err
	}
	g, err := s.gridOf(r.Context(), id)
	if err != nil {
		return p, err
	}
	v, err := resultsOf(out, g.names, r.FormValue("value"))
	if err != nil {
		return p, err
	}
	if v.Heatmap, err = heatmapOf(g, out, v.Value); err != nil {
		v.HeatmapProblem = shown(err.Error())
	}
	v.ID, v.Name = id, shown(aws.ToString(parent.JobName))
	p.Title, p.Body = "Results of "+v.Name, v
	return p, nil
}

// resultsOf reads the rows that results prints. Their columns keep its order. axes are the columns that tell the
// children apart. value is the chosen column; otherwise the last one with numbers is chosen.
func resultsOf(out []byte, axes []string, value string) (v resultsView, err error) {
	var rows []json.RawMessage
	if err := json.Unmarshal(out, &rows); err != nil {
		return v, err
	}
	numeric := map[string]bool{}
	for _, raw := range rows {
		cells := map[string]string{}
		if err := eachMember(raw, func(name string, member json.RawMessage) {
			if !slices.Contains(v.Columns, name) {
				v.Columns = append(v.Columns, name)
			}
			var n float64
			if json.Unmarshal(member, &n) == nil && string(member) != "null" {
				numeric[name] = true
			}
			text := string(member)
			_ = json.Unmarshal(member, &text) // numbers and objects stay unchanged
			cells[name] = shown(text)
		}); err != nil {
			return v, err
		}
		if len(v.Rows) == mostResults {
			v.More++
			continue
		}
		row := make([]string, len(v.Columns))
		for i, name := range v.Columns {
			row[i] = cells[name]
		}
		v.Rows = append(v.Rows, row)
	}
	for _, name := range v.Columns {
		if numeric[name] && name != "index" && !slices.Contains(axes, name) {
			v.Numeric = append(v.Numeric, name)
		}
	}
	v.Value = value
	if !slices.Contains(v.Numeric, value) && len(v.Numeric) > 0 {
		v.Value = v.Numeric[len(v.Numeric)-1]
	}
	return v, nil
}

// eachMember calls f for each member of a JSON object, in order.
func eachMember(raw json.RawMessage, f func(name string, member json.RawMessage)) error {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return cmp.Or(err, errors.New("a row of the results is not an object"))
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var member json.RawMessage
		if err := dec.Decode(&member); err != nil {
			return err
		}
		text, _ := name.(string) // the name of a member is one
		f(text, member)
	}
	return nil
}

// heatmapOf draws a column of the results over the axes of the grid.
func heatmapOf(g *grid, out []byte, value string) (string, error) {
	if g.Rows == nil || value == "" {
		return "", nil
	}
	var rows []map[string]any
	if err := json.Unmarshal(out, &rows); err != nil {
		return "", err
	}
	t, err := heatmap.New(heatmap.Axis{Name: g.Columns.Name, Values: g.Columns.Values}, heatmap.Axis{Name: g.Rows.Name, Values: g.Rows.Values})
	if err != nil {
		return "", err
	}
	width := len(g.Columns.Values)
	for _, row := range rows {
		index, ok := indexIn(row, len(g.Places))
		n, isNumber := row[value].(float64)
		if !ok || !isNumber {
			continue
		}
		place := g.Places[index]
		if err := t.Add(g.Columns.Values[place%width], g.Rows.Values[place/width], n); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	if err := t.WriteSVG(&b, heatmap.Options{Title: g.Name, Value: shown(value)}); err != nil {
		return "", err
	}
	return b.String(), nil
}

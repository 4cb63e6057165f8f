package reportpages

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/reportfiles"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/ui/chart"
	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

// Reports show the reports: cost, right-sizing, comparisons and benchmarks.
type Reports struct{ *source.Source }

// Routes are the addresses of the group.
func (s *Reports) Routes() page.Routes {
	return page.Routes{
		Pages: map[string]func(*http.Request) (page.Page, error){
			"/reports":           s.reportsPage,
			"/reports/cost":      s.costReport,
			"/reports/sizes":     s.sizesReport,
			"/reports/compare":   s.comparePage,
			"/reports/benchmark": s.benchmarkPage,
		},
	}
}

// reportsPage lists the reports.
func (s *Reports) reportsPage(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "reports", Title: "Reports", Section: "reports"}
	if err := s.AwaitJobs(r); err != nil {
		return p, err
	}
	// Arrays are what has results; the newest come first.
	var arrays []joblist.Job
	for _, row := range s.Observer.Jobs.Window(joblist.Query{Count: 1000, Now: time.Now().UnixMilli()}).Rows {
		if row.Job != nil && row.Job.Size > 0 && len(arrays) < 20 {
			arrays = append(arrays, *row.Job)
		}
	}
	p.Body = struct {
		reportfiles.Reports
		Arrays []joblist.Job
		Tags   []string
	}{reportfiles.Find(s.Files), arrays, s.Observer.Jobs.TagNames()}
	return p, nil
}

// spans are the choices for how far back costs are added up.
var spans = []string{"1d", "7d", "30d"}

// costReport shows what jobs cost, by a tag, workflow or array.
func (s *Reports) costReport(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "costs", Title: "Cost", Section: "reports"}
	since, by := cmp.Or(r.FormValue("since"), "7d"), cmp.Or(r.FormValue("by"), "workflow")
	if !slices.Contains(spans, since) {
		return p, page.BadRequest(fmt.Errorf("since %s: choose one of %s", since, strings.Join(spans, ", ")))
	}
	if by != "workflow" && by != "array" && by != "job" && !strings.HasPrefix(by, "tag:") {
		return p, page.BadRequest(fmt.Errorf("by %s: choose workflow, array, job or tag:NAME", by))
	}
	found, err := source.AskJSON[source.CostDocument](r.Context(), s.Commands, time.Minute, "cost", "--since", since,
		"--by", by, "--output", "json")
	if err != nil {
		return p, err
	}
	slices.SortStableFunc(found.Rows, func(a, b source.CostRow) int {
		return cmp.Compare(b.Cost.High.USD, a.Cost.High.USD)
	})
	shownBars := chart.Bars{ID: "costs", Title: "Cost by " + show.Text(by), Unit: "USD"}
	for i, row := range found.Rows {
		if i == 20 {
			break
		}
		shownBars.Groups = append(shownBars.Groups, chart.BarGroup{Name: show.Text(row.Name),
			Bars: []chart.Bar{{Name: "cost", Value: row.Cost.High.USD, Low: row.Cost.Low.USD, High: row.Cost.High.USD,
				Class: "share-0", Text: row.Cost.Text()}}})
	}
	drawn := ""
	if found.Total != nil && found.Total.Cost.High.USD > 0 {
		drawn = page.Bars(shownBars)
	}
	p.Body = struct {
		source.CostDocument
		Since, By, Chart string
		Spans            []string
	}{found, since, by, drawn, spans}
	return p, nil
}

// benchmarkPage shows one benchmark.
func (s *Reports) benchmarkPage(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "benchmark", Title: "Benchmark", Section: "reports"}
	all := reportfiles.Find(s.Files).Benchmarks
	at := slices.IndexFunc(all, func(b reportfiles.Benchmark) bool { return b.Path == r.FormValue("file") })
	if at < 0 {
		return p, page.ErrNotFound
	}
	return BenchmarkPage(all[at]), nil
}

// BenchmarkPage returns the page of a benchmark.
func BenchmarkPage(b reportfiles.Benchmark) page.Page {
	shownBars := chart.Bars{ID: "times", Title: "Median time", Unit: "s"}
	for _, pair := range b.Comparison.Pairs {
		group := chart.BarGroup{Name: show.Text(pair.Name())}
		for i, side := range []*reportfiles.BenchmarkSummary{pair.Base, pair.Other} {
			if side != nil {
				group.Bars = append(group.Bars,
					chart.Bar{Name: []string{show.Text(b.Comparison.Base.Name), show.Text(b.Comparison.Other.Name)}[i],
						Value: side.Median, Low: side.Min,
						High: side.Max, Class: fmt.Sprintf("share-%d", i), Text: show.ShortTime(side.Median)})
			}
		}
		shownBars.Groups = append(shownBars.Groups, group)
	}
	drawn := ""
	if len(shownBars.Groups) > 0 {
		drawn = page.Bars(shownBars)
	}
	return page.Page{Template: "benchmark", Title: "Benchmark", Section: "reports", Body: struct {
		reportfiles.Benchmark
		Chart string
	}{b, drawn}}
}

package reportpages

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/ui/chart"
	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

// Reports show the reports: cost, right-sizing and comparisons.
type Reports struct{ *source.Source }

// Routes are the addresses of the group.
func (s *Reports) Routes() page.Routes {
	return page.Routes{
		Pages: map[string]func(*http.Request) (page.Page, error){
			"/reports":         s.reportsPage,
			"/reports/cost":    s.costReport,
			"/reports/sizes":   s.sizesReport,
			"/reports/compare": s.comparePage,
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
		Arrays []joblist.Job
		Tags   []string
	}{arrays, s.Observer.Jobs.TagNames()}
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
	found, err := source.Ask(r.Context(), s.Commands, time.Minute, s.Cost(preview.CostOptions{Since: since, By: by},
		"--since", since, "--by", by))
	if err != nil {
		return p, err
	}
	rows := source.CostRows(found)
	slices.SortStableFunc(rows, func(a, b cost.Row) int {
		return cmp.Compare(b.Cost.High.USD, a.Cost.High.USD)
	})
	shownBars := chart.Bars{ID: "costs", Title: "Cost by " + show.Text(by), Unit: "USD"}
	for i, row := range rows {
		if i == 20 {
			break
		}
		shownBars.Groups = append(shownBars.Groups, chart.BarGroup{Name: show.Text(row.Name),
			Bars: []chart.Bar{{Name: "cost", Value: row.Cost.High.USD, Low: row.Cost.Low.USD, High: row.Cost.High.USD,
				Class: "share-0", Text: row.Cost.String()}}})
	}
	drawn := ""
	if found.Total.Cost.High.USD > 0 {
		drawn = page.Bars(shownBars)
	}
	p.Body = struct {
		*preview.SpentDocument
		Rows             []cost.Row
		Since, By, Chart string
		Spans            []string
	}{found, rows, since, by, drawn, spans}
	return p, nil
}

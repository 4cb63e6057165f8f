package forecastpages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	commands "github.com/batchctl/batchctl/pkg/cli/forecast"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/ui/chart"
)

// sizingView is what the page of the sizing report shows.
type sizingView struct {
	Queue, MaxWait  string
	Queues, Choices []string
	// Verdict names the cheapest set of queues; "" before a limit was chosen.
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

// sizingPage runs the recorded jobs against sets of queues.
func (s *Forecasts) sizingPage(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "sizing", Title: "Sizing report", Section: "reports"}
	v := sizingView{Queue: r.FormValue("queue"), MaxWait: cmp.Or(r.FormValue("wait"), "30m"), Choices: maxWaits}
	snapshot, err := s.Observer.Latest(r.Context())
	if err != nil {
		return p, err
	}
	for _, q := range snapshot.Queues {
		v.Queues = append(v.Queues, q.Name)
	}
	switch {
	case v.Queue != "" && !slices.Contains(v.Queues, v.Queue):
		return p, page.BadRequest(fmt.Errorf("queue %s: choose one of the target's", v.Queue))
	case !slices.Contains(maxWaits, v.MaxWait):
		return p, page.BadRequest(fmt.Errorf("limit %s: choose one of %s", v.MaxWait, strings.Join(maxWaits, ", ")))
	}
	if r.FormValue("wait") != "" {
		change := s.proposalFor(v.Queue)
		change.o.Replay = "history"
		if change.o.MaxWait, err = time.ParseDuration(v.MaxWait); err != nil {
			return p, err
		}
		change.flags = []string{"--replay=history", "--max-wait=" + v.MaxWait}
		d, err := source.Ask(r.Context(), s.Commands, forecastAge, source.Question[commands.SizingDocument]{
			Words: change.words(),
			Run: func(ctx context.Context, con *term.Console) (commands.SizingDocument, error) {
				return commands.Sizing(ctx, con, change.o)
			}})
		if err != nil {
			return p, err
		}
		v.Command = show.Text(s.Commands.Line(change.words()...))
		v.fill(d)
	}
	p.Body = v
	return p, nil
}

// fill adds the report.
func (v *sizingView) fill(d commands.SizingDocument) {
	v.Verdict, v.Searched, v.Jobs, v.Patches = show.Text(forecast.Verdict(d.Sets, d.MaxWaitMs)),
		forecast.Searched(d.Tried), text.Count(d.Jobs, "job"), patchViews(d.Patch, d.PlatformPatch)
	if len(d.Waited) == 2 {
		v.Waited = fmt.Sprintf("The jobs waited %s (median); 95 %% waited at most %s.",
			forecast.WaitText(float64(d.Waited[0])), forecast.WaitText(float64(d.Waited[1])))
	}
	for _, why := range slices.Sorted(maps.Keys(d.Skipped)) {
		v.Skipped = append(v.Skipped, show.Text(text.Count(d.Skipped[why], "row")+" skipped: "+why))
	}
	cost, wait := chart.BarGroup{}, chart.BarGroup{}
	for _, set := range d.Sets[:min(len(d.Sets), mostSets)] {
		row := set.Cells()
		for i := range row {
			row[i] = show.Text(row[i])
		}
		v.Rows = append(v.Rows, row)
		usd := set.Outlook.CostUSD
		cost.Bars = append(cost.Bars, chart.Bar{Name: row[0], Value: usd.Median, Low: usd.Low, High: usd.High,
			Class: "share-0"})
		minutes := 0.0 // a job that never starts has no bar
		if set.P95Ms != nil {
			minutes = *set.P95Ms / 60_000
		}
		wait.Bars = append(wait.Bars, chart.Bar{Name: row[0], Value: minutes, Class: "share-1", Text: row[2]})
	}
	isPositive := func(b chart.Bar) bool { return b.Value > 0 }
	if slices.ContainsFunc(cost.Bars, isPositive) { // the local engine costs nothing
		v.Cost = page.Bars(chart.Bars{ID: "cost", Title: "Cost of each set", Unit: "USD",
			Groups: []chart.BarGroup{cost}})
	}
	if slices.ContainsFunc(wait.Bars, isPositive) {
		v.Wait = page.Bars(chart.Bars{ID: "wait", Title: "Waiting of each set, 95th percentile in minutes", Unit: "min",
			Groups: []chart.BarGroup{wait}})
	}
}

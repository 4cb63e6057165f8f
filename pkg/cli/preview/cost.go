package preview

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
)

// costOptions are those of batchctl cost.
type costOptions struct {
	Options
	by cost.By
	// jobs are those of --jobs; more may be among the paths.
	jobs              []string
	submission, since string
}

func printCosts(ctx context.Context, con *term.Console, o costOptions) error {
	if !o.by.Valid() {
		return exit.Usage("unknown --by %s", o.by).Try("use one of: job array workflow tag:NAME")
	}
	if o.namesJobs() {
		if o.MaxCost != "" {
			return exit.Usage("--max-cost limits the jobs of a file; these jobs are already submitted").Try("batchctl cost job.json --max-cost %s", o.MaxCost)
		}
		return costAfter(ctx, con, o)
	}
	return costBefore(ctx, con, o)
}

// namesJobs tells jobs that were submitted from files with jobs.
func (o costOptions) namesJobs() bool {
	if len(o.jobs) > 0 || o.since != "" || o.submission != "" || len(o.Paths) == 0 {
		return true
	}
	return !slices.ContainsFunc(o.Paths, func(word string) bool {
		_, err := os.Stat(word)
		return err == nil || word == "-" || filepath.Ext(word) == ".json" || strings.ContainsRune(word, filepath.Separator)
	})
}

// costBefore is the way of files.
func costBefore(ctx context.Context, con *term.Console, o costOptions) error {
	in, err := input.Load(con, o.Options.Options)
	if err != nil {
		return err
	}
	made, err := PlanForTarget(ctx, con, o.Options, in)
	if err != nil {
		return err
	}
	prices, err := PricesFor(o.Prices, in)
	if err != nil {
		return err
	}
	v, err := review(ctx, con, o.Options, in, made)
	if err != nil {
		return err
	}
	h, err := openHistory(ctx, con, o.Target, in, v.Target)
	if err != nil {
		return err
	}
	defer h.close()
	list := cost.Before(made.Name, v, prices, h.of)
	if len(list) == 0 {
		return exit.Usage("%s submits no job", strings.Join(o.Paths, " ")).Try("name a job file or a workflow")
	}
	if o.Format == "json" {
		err = con.JSON(newCostDocument(v.Target.Target, o.by, prices, list))
	} else {
		err = printCost(con, targetText(v.Target), o.by, prices, list)
	}
	return cmp.Or(err, overCost(o.MaxCost, list, ""))
}

// WithinCost refuses a plan that may cost more than --max-cost. It only asks: nothing has
// been sent.
func WithinCost(ctx context.Context, con *term.Console, o Options, in *input.Input, made *plan.Plan) error {
	if o.MaxCost == "" {
		return nil
	}
	v, err := review(ctx, con, o, in, made)
	if err != nil {
		return err
	}
	return reviewCost(o, in, made, v, ": nothing was sent")
}

// reviewCost holds a review against --max-cost. The upper bound needs no history.
func reviewCost(o Options, in *input.Input, made *plan.Plan, v *plan.Review, outcome string) error {
	if o.MaxCost == "" {
		return nil
	}
	prices, err := PricesFor(o.Prices, in)
	if err != nil {
		return err
	}
	return overCost(o.MaxCost, cost.Before(made.Name, v, prices, func(plan.JobReview) cost.History { return cost.History{} }), outcome)
}

// overCost is the failure of jobs that may cost more than --max-cost.
func overCost(maxCost string, list []cost.Estimate, outcome string) error {
	if maxCost == "" {
		return nil
	}
	most, err := cost.ParseUSD(maxCost)
	if err != nil {
		return exit.Usage("--max-cost %s: %v", maxCost, err).Try("write US dollars: --max-cost 20, --max-cost 0.50")
	}
	over := cost.Over(list, most)
	if over == nil {
		return nil
	}
	return exit.Fail(exit.Problem, "%s%s", over.Why, outcome).Try("%s", over.Fix)
}

// costDocument is the answer for machines; amounts are in US dollars.
type costDocument struct {
	Target string          `json:"target"`
	Prices priceTable      `json:"prices"`
	By     cost.By         `json:"by"`
	Groups []cost.Group    `json:"groups,omitempty"`
	Jobs   []cost.Estimate `json:"jobs,omitempty"`
	Rows   []*cost.Row     `json:"rows,omitempty"`
	Total  any             `json:"total"`
}

type priceTable struct {
	Table     string `json:"table"`
	Date      string `json:"date,omitempty"`
	Region    string `json:"region,omitempty"`
	StandsFor string `json:"standsForRegion,omitempty"`
	Source    string `json:"source,omitempty"`
	Between   string `json:"spotBetween,omitempty"`
}

func newPriceTable(prices *catalog.Prices, rates []cost.Rate) priceTable {
	t := priceTable{Table: prices.String(), Date: prices.Day(), Source: prices.Origin(), Between: prices.SpotBetween()}
	for _, r := range rates {
		if r.Region != "" {
			t.Region, t.StandsFor = r.Region, r.Replaces
		}
	}
	return t
}

func newCostDocument(target string, by cost.By, prices *catalog.Prices, list []cost.Estimate) costDocument {
	return costDocument{Target: target, Prices: newPriceTable(prices, ratesOf(list)), By: by, Groups: cost.Together(list, by), Jobs: list, Total: cost.Total(list)}
}

func ratesOf(list []cost.Estimate) (rates []cost.Rate) {
	for _, e := range list {
		rates = append(rates, e.Rate)
	}
	return rates
}

// printCost prints estimates: a line a job or a group, then what the figures are made of.
func printCost(con *term.Console, target string, by cost.By, prices *catalog.Prices, list []cost.Estimate) error {
	total := cost.Total(list)
	if by == cost.ByJob {
		t := con.Table("JOB", "COST", "CHILDREN", "ATTEMPTS", "TIMEOUT", "USD/H", "SPOT/H", "ON")
		for _, e := range list {
			t.Row(shown(con, e.Job), e.Cost.String(), fmt.Sprint(e.Children), fmt.Sprint(e.Attempts), TimeoutText(e.TimeoutSeconds), hourText(e.Rate), spotText(e.Rate), cmp.Or(e.Rate.On, "-"))
		}
		if len(list) > 1 {
			t.Row("total", total.Cost.String(), "", "", "", "", "", "")
		}
		if err := t.Flush(); err != nil {
			return err
		}
	} else if err := printGroups(con, by, cost.Together(list, by), total); err != nil {
		return err
	}
	g := &costPage{PlanPage{Con: con, Width: term.Width(con.Out)}}
	g.Text.WriteString("\n")
	if by == cost.ByJob {
		for _, e := range list {
			g.estimate(e)
		}
	}
	if i := slices.IndexFunc(list, func(e cost.Estimate) bool { return e.Rate.Free != "" }); i >= 0 {
		g.Line("0 USD", "%s", list[i].Rate.Free)
	}
	g.gaps("low", total.Cost.Low, "job")
	g.gaps("high", total.Cost.High, "job")
	g.prices(prices, ratesOf(list))
	g.Line("target", "%s", target)
	return con.Print(g.Text.String())
}

func printGroups(con *term.Console, by cost.By, groups []cost.Group, total cost.Group) error {
	t := con.Table(headOf(by), "COST", "JOBS")
	for _, g := range groups {
		t.Row(shown(con, g.Name), g.Cost.String(), fmt.Sprint(g.Jobs))
	}
	if len(groups) > 1 {
		t.Row("total", total.Cost.String(), fmt.Sprint(total.Jobs))
	}
	return t.Flush()
}

// headOf is what stands over the names of groups.
func headOf(by cost.By) string {
	if tag, ok := by.Tag(); ok {
		return diag.Printable(strings.ToUpper(tag))
	}
	return strings.ToUpper(string(by))
}

// TimeoutText is a timeout as people read it.
func TimeoutText(seconds int64) string {
	if seconds == 0 {
		return "-"
	}
	return hours(float64(seconds) / 3600)
}

func hourText(r cost.Rate) string {
	if r.On == "" {
		return "-"
	}
	return cost.Figure(r.Share)
}

func spotText(r cost.Rate) string {
	if r.Spot == nil {
		return "-"
	}
	return cost.Between(r.Spot.Low, r.Spot.High)
}

// costPage is what stands below the table: a label and what belongs to it a line.
type costPage struct{ PlanPage }

// estimate says what both ends of a job's range are made of.
func (g *costPage) estimate(e cost.Estimate) {
	name := e.Job + ": "
	if e.Cost.Low.Known() && e.Rate.Free == "" && e.History.Runs > 0 {
		g.Line("low", "%smedian of %s, %s", name, term.Plural(e.History.Runs, "earlier run"), term.Short(time.Duration(e.History.Median*float64(time.Second))))
	}
	if e.Cost.High.Known() && e.Rate.Free == "" {
		text := fmt.Sprintf("%s of %s", term.Plural(e.Attempts, "attempt"), TimeoutText(e.TimeoutSeconds))
		if e.Children > 1 {
			text += fmt.Sprintf(" x %d children", e.Children)
		}
		g.Line("high", "%s%s, each alone at %s USD an hour", name, text, cost.Figure(e.Rate.Alone))
	}
	if u := e.Rate.Unused; u != nil {
		why := "if no other job takes them"
		if u.Closed {
			why = "and no other such job fits beside it"
		}
		g.Line("unused", "%s%d of the %d GPUs of %s, %s USD an hour, %s", name, u.GPUs, u.Of, u.On, cost.Figure(u.Hour), why)
	}
}

// gaps says what is missing from a sum.
func (g *costPage) gaps(label string, a cost.Amount, what string) {
	for _, gap := range a.Without {
		g.Line(label, "without %s: %s", term.Plural(gap.Count, what), gap.Why)
	}
}

// prices names the table, and what is not in it.
func (g *costPage) prices(prices *catalog.Prices, rates []cost.Rate) {
	t := newPriceTable(prices, rates)
	if t.Region == "" {
		g.Line("prices", "none used of the %s", t.Table)
		return
	}
	g.Line("prices", "%s, %s", t.Table, t.Region)
	if t.StandsFor != "" {
		g.More("no prices for %s; using those of %s (--prices FILE has others)", t.StandsFor, t.Region)
	}
	if slices.ContainsFunc(rates, func(r cost.Rate) bool { return r.Spot != nil }) {
		g.More("%s", spotNote(prices))
	} else {
		g.More("no Spot price is known; --prices FILE can add lines of spot:TYPE")
	}
}

package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/plantext"
	"github.com/batchctl/batchctl/pkg/text"
)

// costOptions are the flags and arguments of cost.
type costOptions struct {
	Options
	by cost.By
	// jobs are the arguments of --jobs. Paths may name more jobs, see namesJobs.
	jobs              []string
	submission, since string // as written
}

// printCosts is batchctl cost. It estimates the cost of job files, or adds up the
// cost of submitted jobs, depending on the arguments.
func printCosts(ctx context.Context, con *term.Console, o costOptions) error {
	if !o.by.Valid() {
		return cmdline.UnknownValue("by", string(o.by), "the values are", "job", "array", "workflow", "tag:NAME")
	}
	if o.MaxCost != "" {
		if _, err := parseMaxCost(o.MaxCost); err != nil {
			return err
		}
	}
	if o.namesJobs() {
		if o.MaxCost != "" {
			return exit.Usage("--max-cost limits the jobs of a file, but these jobs are already submitted").
				Try("batchctl cost job.json --max-cost %s", o.MaxCost)
		}
		return costAfter(ctx, con, o)
	}
	return costBefore(ctx, con, o)
}

// namesJobs reports whether the arguments name submitted jobs, not job files.
func (o costOptions) namesJobs() bool {
	if len(o.jobs) > 0 || o.since != "" || o.submission != "" || len(o.Paths) == 0 {
		return true
	}
	return !slices.ContainsFunc(o.Paths, session.NamesFile)
}

// costBefore estimates the cost of the jobs in files. The lower bounds need the
// history of the target, the upper bounds only prices and timeouts.
func costBefore(ctx context.Context, con *term.Console, o costOptions) error {
	in, err := input.Load(con, o.Options.Options)
	if err != nil {
		return err
	}
	planned, err := PlanForTarget(ctx, con, o.Options, in)
	if err != nil {
		return err
	}
	prices, err := PricesFor(o.Prices, in)
	if err != nil {
		return err
	}
	w, err := queryTarget(ctx, con, o.Options, in, planned)
	if err != nil {
		return err
	}
	// Jobs on this machine cost nothing, but a platform file says where they would run on AWS.
	priced := *w
	if w.Local {
		priced.Local, priced.EnvironmentsErr = false, "the platform file describes them"
	}
	v := ReviewOf(in, planned, &priced, prices)
	v.Target = w
	h, err := openHistory(ctx, con, o.Target, in, v.Target)
	if err != nil {
		return err
	}
	defer h.close()
	list := cost.Before(planned.Name, v, prices, h.of)
	if len(list) == 0 {
		return exit.Usage("%s submits no job", strings.Join(o.Paths, " ")).Try("name a job file or a workflow")
	}
	if o.Format == "json" {
		err = con.JSON(newEstimateDocument(v.Target.Target, o.by, prices, list))
	} else {
		err = printCost(con, plantext.Target(v.Target), o.by, prices, list)
	}
	return cmp.Or(err, overCost(o.MaxCost, list, ""))
}

// WithinCost returns an error if the jobs of a plan may cost more than
// --max-cost. It queries the target only if there is such a limit, and sends no
// job.
func WithinCost(ctx context.Context, con *term.Console, o Options, in *input.Input, planned *plan.Plan) error {
	if o.MaxCost == "" {
		return nil
	}
	v, err := review(ctx, con, o, in, planned)
	if err != nil {
		return err
	}
	return reviewCost(o, in, planned, v, ": nothing was sent")
}

// reviewCost compares a review with --max-cost. The upper bound needs no history.
// outcome ends the message, such as ": nothing was sent".
func reviewCost(o Options, in *input.Input, planned *plan.Plan, v *plan.Review, outcome string) error {
	if o.MaxCost == "" {
		return nil
	}
	prices, err := PricesFor(o.Prices, in)
	if err != nil {
		return err
	}
	return overCost(o.MaxCost,
		cost.Before(planned.Name, v, prices, func(plan.JobReview) cost.History { return cost.History{} }), outcome)
}

// parseMaxCost reads the value of --max-cost.
func parseMaxCost(text string) (float64, error) {
	most, err := cost.ParseUSD(text)
	if err != nil {
		return 0, exit.Usage("--max-cost %s: %v", text, err).Try("write US dollars: --max-cost 20, --max-cost 0.50")
	}
	return most, nil
}

// overCost returns an error if estimates exceed maxCost, an amount of US dollars
// as written. "" sets no limit.
func overCost(maxCost string, list []cost.Estimate, outcome string) error {
	if maxCost == "" {
		return nil
	}
	most, err := parseMaxCost(maxCost)
	if err != nil {
		return err
	}
	over := cost.Over(list, most)
	if over == nil {
		return nil
	}
	return exit.Fail(exit.Problem, "%s%s", over.Why, outcome).Try("%s", over.Fix)
}

// costHead begins the JSON output of cost. Amounts are in US dollars.
type costHead struct {
	Target string     `json:"target"`
	Prices priceTable `json:"prices"`
	By     cost.By    `json:"by"`
	// NotIncluded names what AWS bills beside the amounts.
	NotIncluded []string `json:"notIncluded,omitempty"`
}

// estimateDocument is the JSON output for job files.
type estimateDocument struct {
	costHead
	Groups []cost.Group    `json:"groups,omitempty"`
	Jobs   []cost.Estimate `json:"jobs,omitempty"`
	Total  cost.Group      `json:"total"`
}

// spentDocument is the JSON output for submitted jobs.
type spentDocument struct {
	costHead
	Rows  []*cost.Row `json:"rows,omitempty"`
	Total cost.Row    `json:"total"`
}

// priceTable describes the prices that an answer uses.
type priceTable struct {
	Table  string `json:"table"`            // the name of the table
	Date   string `json:"date,omitempty"`   // the day of the prices
	Region string `json:"region,omitempty"` // the Region whose prices are used
	// StandsFor is the Region of the jobs if the table has no prices for it.
	StandsFor string `json:"standsForRegion,omitempty"`
	Source    string `json:"source,omitempty"`
	Between   string `json:"spotBetween,omitempty"` // the days of the Spot prices
}

// newPriceTable describes a price table and the Region that the rates use. Free
// and unknown rates name no Region.
func newPriceTable(prices *catalog.Prices, rates []cost.Rate) priceTable {
	t := priceTable{Table: prices.String(), Date: prices.Day(), Source: prices.Origin(), Between: prices.SpotBetween()}
	for _, r := range rates {
		if r.Region != "" {
			t.Region, t.StandsFor = r.Region, r.Replaces
		}
	}
	return t
}

// newEstimateDocument is the JSON output for estimates, grouped as --by says.
func newEstimateDocument(target string, by cost.By, prices *catalog.Prices, list []cost.Estimate) estimateDocument {
	return estimateDocument{costHead{target, newPriceTable(prices, ratesOf(list)), by, notIncluded(ratesOf(list))},
		cost.Together(list, by), list, cost.Total(list)}
}

// ratesOf returns the rate of each estimate.
func ratesOf(list []cost.Estimate) (rates []cost.Rate) {
	for _, e := range list {
		rates = append(rates, e.Rate)
	}
	return rates
}

// printCost prints estimates, one line per job or group, and below them how each
// figure is calculated.
func printCost(con *term.Console, target string, by cost.By, prices *catalog.Prices, list []cost.Estimate) error {
	total := cost.Total(list)
	if by == cost.ByJob {
		t := con.Table("JOB", "COST", "CHILDREN", "ATTEMPTS", "TIMEOUT", "USD/H", "SPOT/H", "ON")
		for _, e := range list {
			t.Row(shown(con, e.Job), e.Cost.String(), fmt.Sprint(e.Children), fmt.Sprint(e.Attempts),
				TimeoutText(e.TimeoutSeconds), hourText(e.Rate), spotText(e.Rate), cmp.Or(e.Rate.On, "-"))
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

// printGroups prints the table of --by array, workflow or tag.
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

// headOf returns the column title over the names of groups.
func headOf(by cost.By) string {
	if tag, ok := by.Tag(); ok {
		return diag.Printable(strings.ToUpper(tag))
	}
	return strings.ToUpper(string(by))
}

// TimeoutText formats a timeout such as 1h30m; 0 is "-".
func TimeoutText(seconds int64) string {
	if seconds == 0 {
		return "-"
	}
	return plantext.Hours(float64(seconds) / 3600)
}

// hourText formats the job's share of an hour of its machine, in US dollars; "-"
// if no machine is known.
func hourText(r cost.Rate) string {
	if r.On == "" {
		return "-"
	}
	return text.Money(r.Share)
}

// spotText formats the range of the job's share at Spot prices; "-" if the table
// has none.
func spotText(r cost.Rate) string {
	if r.Spot == nil {
		return "-"
	}
	return text.MoneyRange(r.Spot.Low, r.Spot.High)
}

// costPage is the text below the cost table. Each line has a label.
type costPage struct{ PlanPage }

// estimate explains both bounds of a job's cost, the environments that it may run on, and GPUs
// of the machine that the job leaves unused.
func (g *costPage) estimate(e cost.Estimate) {
	name := e.Job + ": "
	if len(e.Rate.Order) > 0 {
		g.Line("order", "%sfirst on %s", name, strings.Join(e.Rate.Order, ", then on "))
	}
	if e.Cost.Low.Known() && e.Rate.Free == "" && e.History.Runs > 0 {
		g.Line("low", "%smedian of %s, %s%s", name, text.Count(e.History.Runs, "earlier run"),
			text.Duration(time.Duration(e.History.Median*float64(time.Second))), leastText(e.Rate, e.History.Median))
	}
	if e.Cost.High.Known() && e.Rate.Free == "" {
		bound := fmt.Sprintf("%s of %s%s", text.Count(e.Attempts, "attempt"), TimeoutText(e.TimeoutSeconds),
			leastText(e.Rate, float64(e.TimeoutSeconds)))
		if e.Children > 1 {
			bound += fmt.Sprintf(" x %d children", e.Children)
		}
		g.Line("high", "%s%s, each alone at %s USD an hour", name, bound, text.Money(e.Rate.Alone))
	}
	if u := e.Rate.Unused; u != nil {
		why := "if no other job uses them"
		if u.Closed {
			why = "and no other such job fits beside it"
		}
		g.Line("unused", "%s%d of the %d GPUs of %s, %s USD an hour, %s", name, u.GPUs, u.Of, u.On, text.Money(u.Hour),
			why)
	}
}

// leastText is the time that AWS bills for a shorter run; "" for a longer one.
func leastText(r cost.Rate, seconds float64) string {
	if seconds >= r.LeastSeconds {
		return ""
	}
	return fmt.Sprintf(" (AWS bills %s)", TimeoutText(int64(r.LeastSeconds)))
}

// gaps lists the jobs or runs that a sum does not include, with the reason. what
// names them in the singular.
func (g *costPage) gaps(label string, a cost.Amount, what string) {
	for _, gap := range a.Without {
		g.Line(label, "without %s: %s", text.Count(gap.Count, what), gap.Why)
	}
}

// prices names the price table and its limits.
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
		g.More("%s", plantext.SpotNote(prices))
	} else {
		g.More("no Spot price is known; add lines of spot:TYPE with --prices FILE")
	}
	for i, text := range notIncluded(rates) {
		label := ""
		if i == 0 {
			label = "excluded"
		}
		g.Line(label, "%s", text)
	}
}

// notIncluded names what the amounts leave out; nil if no rate has a price.
func notIncluded(rates []cost.Rate) []string {
	isFargate := func(r cost.Rate) bool { return r.On != "" && r.LeastSeconds > 0 }
	onInstances := func(r cost.Rate) bool { return r.On != "" && r.LeastSeconds == 0 }
	fargate, instances := slices.ContainsFunc(rates, isFargate), slices.ContainsFunc(rates, onInstances)
	if !fargate && !instances {
		return nil
	}
	return plan.NotIncluded(fargate, instances)
}

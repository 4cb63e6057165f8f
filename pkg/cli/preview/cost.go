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
	"github.com/urfave/cli/v2"
)

// CostCommand is batchctl cost.
func CostCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "cost",
		Usage:     "estimate what jobs will cost, or show what they did cost",
		UsageText: "batchctl cost [FLAGS] FILE ...\n   batchctl cost [FLAGS] JOB ...\n   batchctl cost [FLAGS] --since TIME [FILE or JOB ...]",
		Description: cmdline.Help("For job files, the lower bound is one attempt with the median duration of earlier runs, on the job's share of the cheapest instance. The upper bound "+
			"is every attempt for its whole timeout, alone on the smallest instance that fits.\n\nFor jobs, the cost covers every attempt, and the report shows which attempts were wasted. With --since, a FILE stands for the jobs that were "+
			"submitted with it. Jobs without a figure are listed, but not in the sums. The output lists what is not "+
			"included. Spot prices vary.",
			"batchctl cost job.json --target prod\nbatchctl cost pipeline.json --by workflow --max-cost 20\n"+
				"batchctl cost calibration.json --since 1d --by workflow"),
	}, CostOptions{By: string(cost.ByJob),
		Output: cmdline.Outputs(cmdline.JSON[EstimateDocument](), cmdline.JSON[SpentDocument]())},
		func(ctx context.Context, o CostOptions) error { return printCosts(ctx, con, o) })
}

// CostOptions are the flags and arguments of cost.
type CostOptions struct {
	// Args are files, or jobs: see namesJobs.
	Options
	cmdline.Output
	Pricing
	Submission string `flag:"submission" usage:"all jobs of a <SUBMISSION>: its id, workflow or file, or one of its jobs"`
	// By is a cost.By; "" is cost.ByJob.
	By      string `flag:"by" usage:"group by job, array, workflow or tag:<NAME>"`
	Offline bool   `flag:"offline" usage:"do not query the target"`
	// Jobs name more jobs.
	Jobs []string `flag:"jobs" usage:"the actual cost of this <JOB>; may be repeated"`
	// Since is as written.
	Since string `flag:"since" usage:"the actual cost of the jobs of these names, workflows or files created since this <TIME>, such as 7d; a trailing * is a wildcard"`
}

// by returns the grouping. Another one is a usage error.
func (o CostOptions) by() (cost.By, error) {
	by := cmp.Or(cost.By(o.By), cost.ByJob)
	if !by.Valid() {
		return "", cmdline.UnknownValue("by", o.By, "the values are", "job", "array", "workflow", "tag:NAME")
	}
	return by, nil
}

// printCosts is batchctl cost. It estimates the cost of job files, or adds up the
// cost of submitted jobs, depending on the arguments.
func printCosts(ctx context.Context, con *term.Console, o CostOptions) error {
	if _, err := o.by(); err != nil {
		return err
	}
	if o.MaxCost != "" {
		if _, err := o.MaxCost.parsed(); err != nil {
			return err
		}
	}
	var document interface{ Print(*term.Console) error }
	var over error
	if !o.namesJobs() {
		estimate, err := Estimate(ctx, con, o)
		if err != nil {
			return err
		}
		document, over = estimate, overCost(o.MaxCost, estimate.Jobs, "")
	} else {
		if o.MaxCost != "" {
			return exit.Usage("--max-cost limits the jobs of a file, but these jobs are already submitted").
				Try("batchctl cost job.json --max-cost %s", o.MaxCost)
		}
		spent, err := Spent(ctx, con, o)
		if err != nil {
			return err
		}
		document = spent
	}
	if o.Format == "json" {
		return cmp.Or(con.JSON(document), over)
	}
	return cmp.Or(document.Print(con), over)
}

// namesJobs reports whether the arguments name submitted jobs, not job files.
func (o CostOptions) namesJobs() bool {
	if len(o.Jobs) > 0 || o.Since != "" || o.Submission != "" || len(o.Args) == 0 {
		return true
	}
	return !slices.ContainsFunc(o.Args, session.NamesFile)
}

// Estimate estimates the cost of the jobs in files. The lower bounds need the
// history of the target, the upper bounds only prices and timeouts.
func Estimate(ctx context.Context, con *term.Console, o CostOptions) (*EstimateDocument, error) {
	by, err := o.by()
	if err != nil {
		return nil, err
	}
	in, planned, err := planned(ctx, con, o.Options)
	if err != nil {
		return nil, err
	}
	prices, err := PricesFor(string(o.Prices), in)
	if err != nil {
		return nil, err
	}
	w, err := queryTarget(ctx, con, PlanOptions{Options: o.Options, Offline: o.Offline}, in, planned)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	defer h.close()
	list := cost.Before(planned.Name, v, prices, h.of)
	if len(list) == 0 {
		return nil, exit.Usage("%s submits no job", strings.Join(o.Args, " ")).Try("name a job file or a workflow")
	}
	rates := cost.RatesOf(list)
	return &EstimateDocument{costHead{v.Target.Target, cost.NewPriceTable(prices, rates), by, cost.NotIncluded(rates)},
		cost.Together(list, by), list, cost.Total(list), plantext.Target(w), prices}, nil
}

// WithinCost returns an error if the jobs of a plan may cost more than
// --max-cost. It queries the target only if there is such a limit, and sends no
// job.
func WithinCost(ctx context.Context, con *term.Console, o PlanOptions, in *input.Input, planned *plan.Plan) error {
	if o.MaxCost == "" {
		return nil
	}
	v, err := review(ctx, con, o, in, planned)
	if err != nil {
		return err
	}
	return reviewCost(o.Pricing, in, planned, v, ": nothing was sent")
}

// reviewCost compares a review with --max-cost. The upper bound needs no history.
// outcome ends the message, such as ": nothing was sent".
func reviewCost(o Pricing, in *input.Input, planned *plan.Plan, v *plan.Review, outcome string) error {
	if o.MaxCost == "" {
		return nil
	}
	prices, err := PricesFor(string(o.Prices), in)
	if err != nil {
		return err
	}
	return overCost(o.MaxCost,
		cost.Before(planned.Name, v, prices, func(plan.JobReview) cost.History { return cost.History{} }), outcome)
}

// parsed returns the amount.
func (m MaxCost) parsed() (float64, error) {
	most, err := cost.ParseUSD(string(m))
	if err != nil {
		return 0, exit.Usage("--max-cost %s: %v", m, err).Try("write US dollars: --max-cost 20, --max-cost 0.50")
	}
	return most, nil
}

// overCost returns an error if estimates exceed maxCost.
func overCost(maxCost MaxCost, list []cost.Estimate, outcome string) error {
	if maxCost == "" {
		return nil
	}
	most, err := maxCost.parsed()
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
	Target string          `json:"target"`
	Prices cost.PriceTable `json:"prices"`
	By     cost.By         `json:"by"`
	// NotIncluded names what AWS bills beside the amounts.
	NotIncluded []string `json:"notIncluded,omitempty"`
}

// EstimateDocument is the JSON output for job files.
type EstimateDocument struct {
	costHead
	Groups []cost.Group    `json:"groups,omitempty"`
	Jobs   []cost.Estimate `json:"jobs,omitempty"`
	Total  cost.Group      `json:"total"`

	target string // as the text shows it
	prices *catalog.Prices
}

// Print prints estimates, one line per job or group, and below them how each
// figure is calculated.
func (d *EstimateDocument) Print(con *term.Console) error {
	by, list, total := d.By, d.Jobs, d.Total
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
	} else if err := printGroups(con, by, d.Groups, total); err != nil {
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
	g.prices(d.Prices, d.NotIncluded, d.prices, cost.RatesOf(list))
	g.Line("target", "%s", d.target)
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
func (g *costPage) prices(t cost.PriceTable, excluded []string, prices *catalog.Prices, rates []cost.Rate) {
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
	for i, text := range excluded {
		label := ""
		if i == 0 {
			label = "excluded"
		}
		g.Line(label, "%s", text)
	}
}

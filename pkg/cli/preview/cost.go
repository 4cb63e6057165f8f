package preview

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
)

// CostCommand is batchctl cost.
func CostCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "cost",
		Usage:     "say what jobs will cost, from their timeouts and earlier runs, or what they did cost",
		UsageText: "batchctl cost [FLAGS] FILE ...\n   batchctl cost [FLAGS] JOB ...",
		Description: cmdline.Help("Of job files: from one attempt as long as the median of earlier runs, on the job's share of the cheapest machine, to every\n"+
			"attempt in full use of its timeout, alone on the smallest machine that holds it. Of jobs: the seconds of every attempt, and\n"+
			"which of them were waste. What has no figure is said, and is not in the sums. The start of instances, idle time, storage,\n"+
			"logs and transfers come on top. Prices are those of their day; Spot prices move.",
			"batchctl cost job.json --target prod\nbatchctl cost pipeline.json --by workflow --max-cost 20\nbatchctl cost resnet-train --target prod\n"+
				"batchctl cost 'resnet*' --since 7d --by tag:team --output json\nbatchctl cost --jobs 3f2a91c0 --queue gpu"),
		Flags: append(append(append(append(input.Flags(), PlanFlags()...), cmdline.TargetFlags()...), cmdline.OutputFlags()...),
			PricesFlag(), MaxCostFlag(), cmdline.SubmissionFlag(),
			&cli.StringFlag{Name: "by", Value: string(cost.ByJob), Usage: "add up by job, array, workflow or tag:`NAME`"},
			&cli.BoolFlag{Name: "offline", Usage: "ask no target: go by the files alone"},
			&cli.StringSliceFlag{Name: "jobs", Usage: "what this `JOB` did cost; may be repeated, and more may follow"},
			&cli.StringFlag{Name: "since", Usage: "what all jobs of these names from this `TIME` on did cost, such as 7d; a trailing * matches the rest"}),
		Action: func(c *cli.Context) error { return printCosts(con, c) },
	}
}

// PricesFlag names a file of prices.
func PricesFlag() cli.Flag {
	return &cli.StringFlag{Name: "prices", Usage: "`FILE` of prices newer than the built-in ones, or of other Regions, on demand and on Spot: lines of " + catalog.PricesHead + " (default: the platform file's prices)"}
}

// MaxCostFlag bounds what jobs may cost.
func MaxCostFlag() cli.Flag {
	return &cli.StringFlag{Name: "max-cost", Usage: "refuse jobs that may cost more than this `AMOUNT` of US dollars, or nobody knows how much: see batchctl cost"}
}

func printCosts(con *term.Console, c *cli.Context) error {
	format, err := cmdline.OutputFormat(c)
	if err != nil {
		return err
	}
	by := cost.By(c.String("by"))
	if !by.Valid() {
		return exit.Usage("--by %s is not known", by).Try("the choice is: job array workflow tag:NAME")
	}
	if namesJobs(c) {
		if c.IsSet("max-cost") {
			return exit.Usage("--max-cost bounds what jobs of a file may cost").Try("batchctl cost job.json --max-cost %s", c.String("max-cost"))
		}
		return costAfter(con, c, by)
	}
	return costBefore(con, c, by, format)
}

// namesJobs tells jobs that were submitted from files with jobs.
func namesJobs(c *cli.Context) bool {
	if c.IsSet("jobs") || c.IsSet("since") || c.IsSet("submission") || !c.Args().Present() {
		return true
	}
	return !slices.ContainsFunc(c.Args().Slice(), func(word string) bool {
		_, err := os.Stat(word)
		return err == nil || word == "-" || filepath.Ext(word) == ".json" || strings.ContainsRune(word, filepath.Separator)
	})
}

// costBefore is the way of files.
func costBefore(con *term.Console, c *cli.Context, by cost.By, format string) error {
	in, err := input.Load(con, input.OptionsOf(c))
	if err != nil {
		return err
	}
	made, err := PlanForTarget(con, c, in)
	if err != nil {
		return err
	}
	prices, err := PricesFor(c, in)
	if err != nil {
		return err
	}
	v, err := review(con, c, in, made)
	if err != nil {
		return err
	}
	h, err := openHistory(con, c, in, v.World)
	if err != nil {
		return err
	}
	defer h.close()
	list := cost.Before(made.Name, v, prices, h.of)
	if len(list) == 0 {
		return exit.Usage("%s submits no job", strings.Join(c.Args().Slice(), " ")).Try("name a job file or a workflow")
	}
	if format == "json" {
		err = con.JSON(newCostDocument(v.World.Target, by, prices, list))
	} else {
		err = printCost(con, targetText(v.World), by, prices, list)
	}
	return cmp.Or(err, overCost(c, list, ""))
}

// WithinCost refuses a plan that may cost more than --max-cost. It only asks: nothing has
// been sent.
func WithinCost(con *term.Console, c *cli.Context, in *input.Input, made *plan.Plan) error {
	if !c.IsSet("max-cost") {
		return nil
	}
	v, err := review(con, c, in, made)
	if err != nil {
		return err
	}
	return reviewCost(con, c, in, made, v, ": nothing was sent")
}

// reviewCost holds a review against --max-cost. The upper bound needs no history.
func reviewCost(con *term.Console, c *cli.Context, in *input.Input, made *plan.Plan, v *plan.Review, outcome string) error {
	if !c.IsSet("max-cost") {
		return nil
	}
	prices, err := PricesFor(c, in)
	if err != nil {
		return err
	}
	return overCost(c, cost.Before(made.Name, v, prices, func(plan.JobReview) cost.History { return cost.History{} }), outcome)
}

// overCost is the failure of jobs that may cost more than --max-cost.
func overCost(c *cli.Context, list []cost.Estimate, outcome string) error {
	word := c.String("max-cost")
	if word == "" {
		return nil
	}
	most, err := cost.ParseUSD(word)
	if err != nil {
		return exit.Usage("--max-cost %s: %v", word, err).Try("write US dollars: --max-cost 20, --max-cost 0.50")
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
			t.Region, t.StandsFor = r.Region, r.StandsFor
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
		g.More("none of %s here, so those of %s stand in: --prices FILE", t.StandsFor, t.Region)
	}
	if slices.ContainsFunc(rates, func(r cost.Rate) bool { return r.Spot != nil }) {
		g.More("%s", spotNote(prices))
	} else {
		g.More("no Spot price of these is known: --prices FILE, with lines of spot:TYPE")
	}
}

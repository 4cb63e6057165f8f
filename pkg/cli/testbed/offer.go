package testbed

import (
	"context"
	"os"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/benchmark"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/testbed"
	"github.com/batchctl/batchctl/pkg/text"
)

// offer calculates what the benchmark will cost, from the parameters of the
// stacks and the plan of the jobs. It needs no resource of the benchmark.
func (q *sequence) offer(ctx context.Context) (*testbed.Offer, error) {
	planned, err := q.planned(ctx)
	if err != nil {
		return nil, err
	}
	prices, err := preview.PricesFor(string(q.o.Prices), planned.Sides[0].Parts[0].Input)
	if err != nil {
		return nil, err
	}
	region := q.t.Config.Region
	o := testbed.NewOffer(prices, region)
	for _, s := range planned.Sides {
		types := testbed.InstanceTypes(q.parameters, s.Name)
		for _, part := range s.Parts {
			v := preview.ReviewOf(part.Input, part.Plan, &plan.TargetState{Target: q.t.Kind(), Region: region}, prices)
			o.Add(cost.Before(part.Plan.Name, v, prices, func(plan.JobReview) cost.History { return cost.History{} }),
				types)
		}
	}
	for _, part := range planned.Sides[0].Parts { // both sides of a workload run together
		o.Wait(part.Plan.Name, planned.Options.StartLimit)
	}
	o.AddHourly(testbed.Wanted(q.parameters), q.parameters)
	return o, nil
}

// planned returns the benchmark as it would be submitted when the stacks exist.
// It needs a temporary platform file with their queues.
func (q *sequence) planned(ctx context.Context) (*benchmark.Benchmark, error) {
	text, _, err := infra.AddQueues(diag.NewSource("", "{}\n"), testbed.Queues(q.stacks.Prefix, q.parameters))
	if err != nil {
		return nil, err
	}
	// The queues do not exist yet, so only a platform file can describe them to
	// the plan.
	file, err := os.CreateTemp(q.o.Out, ".planned-*.json")
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "write to %s: %v", q.o.Out, exit.Cause(err))
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString(text); err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	q.jobs(false, file.Name())
	planned := &benchmark.Benchmark{Console: q.Console, Options: q.bench.Options}
	return planned, planned.Load(ctx)
}

// within returns an error if the offer may cost more than maxCost, or if its cost
// is unknown. "" sets no limit.
func within(o *testbed.Offer, maxCost string) error {
	if maxCost == "" {
		return nil
	}
	limit, err := cost.ParseUSD(maxCost)
	switch {
	case err != nil:
		return exit.Usage("--max-cost %s: %v", maxCost, err).Try("write US dollars: --max-cost 20, --max-cost 0.50")
	case o.Why != "":
		return exit.Fail(exit.Problem, "cannot tell whether it stays within %s USD: %s; nothing was created",
			text.Money(limit), o.Why).
			Try("give prices: --prices FILE, or leave --max-cost out")
	case o.All() > limit:
		return exit.Fail(exit.Problem, "it may cost %s USD, and the limit is %s; nothing was created",
			text.Money(o.All()), text.Money(limit)).
			Try("shorten the jobs: --set timeout=10m, and the wait for their start: --start-limit 15m")
	}
	return nil
}

// text formats the offer.
func (q *sequence) text(o *testbed.Offer) string {
	g := &preview.PlanPage{Con: q.Console, Width: term.Width(q.Err)}
	var names []string
	for _, t := range testbed.Wanted(q.parameters) {
		names = append(names, t.Name)
	}
	g.Line("creates", "%s %s-NAME: %s", text.Count(len(names), "CloudFormation stack"), q.stacks.Prefix,
		strings.Join(names, ", "))
	for _, line := range q.images.offer() {
		g.More("%s", line)
	}
	for i, e := range o.Jobs {
		label := ""
		if i == 0 {
			label = "runs"
		}
		g.Line(label, "%s on %s, %s at most", e.Job, e.Queue, preview.TimeoutText(e.TimeoutSeconds*int64(e.Attempts)))
	}
	g.Line("takes", "about 20 minutes, half of it for the stacks; %.0f h at most", o.Hours())
	if o.Why != "" {
		g.Line("costs", "unknown: %s", o.Why)
	} else {
		g.Line("costs", "%s USD at most: %s for the jobs, %s for the rest in %.0f h", text.Money(o.All()),
			text.Money(o.Most), text.Money(o.All()-o.Most), o.Hours())
		g.More("excludes the start and idle time of machines, disks, logs and transfers")
	}
	g.Line("left", "%s USD an hour for as long as it stays: %s", text.Money(o.Hourly),
		text.And(o.Standing))
	from := o.Prices.String() + ", " + o.Region
	if o.Elsewhere {
		from += ", because there are none for " + q.t.Config.Region + ": --prices FILE"
	}
	g.Line("prices", "%s", from)
	after := "gone afterwards: --destroy-after"
	if !q.o.DestroyAfter {
		after = "removed by: " + q.o.again("destroy")
	}
	g.Line("ends", "%s", after)
	return g.Text.String()
}

package quickstart

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/benchmark"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/plan"
)

// quickOffer is what a quick start will make and cost.
type quickOffer struct {
	jobs     []cost.Estimate
	prices   *catalog.Prices
	region   string // whose prices are taken
	elswhere bool   // which is not that of the target
	// most is what the jobs cost at most, in US dollars; why says why nobody knows.
	most float64
	why  string
	// standing are what costs by the hour for as long as it is there, hourly all of it.
	standing []string
	hourly   float64
	// longest is how long all of it takes at most.
	longest time.Duration
}

// offer finds out what the quick start will cost, from the parameters of the stacks and
// the plan of the jobs. Nothing has to be there for that.
func (q *quickstart) offer() (*quickOffer, error) {
	planned, err := q.planned()
	if err != nil {
		return nil, err
	}
	o := &quickOffer{region: q.t.Config.Region, longest: time.Hour}
	if o.prices, err = preview.PricesFor(q.c, planned.Sides[0].Parts[0].Input); err != nil {
		return nil, err
	}
	if !o.prices.Has(o.region) {
		o.region, o.elswhere = catalog.PricesRegion, true
	}
	for _, s := range planned.Sides {
		types := strings.Split(q.given[map[string]string{"CPU": "CpuInstanceTypes", "GPU": "GpuInstanceTypes"}[s.Name]], ",")
		for _, part := range s.Parts {
			v := preview.ReviewOf(part.Input, part.Made, &plan.World{Target: q.t.Kind(), Region: q.t.Config.Region}, o.prices)
			o.add(cost.Before(part.Made.Name, v, o.prices, func(plan.JobReview) cost.History { return cost.History{} }), types)
		}
	}
	for _, part := range planned.Sides[0].Parts { // both sides of a workload run together
		o.longest += planned.Options.StartLimit + longestOf(o.jobs, part.Made.Name)
	}
	o.stand(q.given)
	return o, nil
}

// planned is the benchmark as it would be submitted once the stacks are there.
func (q *quickstart) planned() (*benchmark.Benchmark, error) {
	queues := []infra.Queue{q.plannedQueue("cpu", "Cpu"), q.plannedQueue("gpu", "Gpu")}
	text, _, err := infra.AddQueues(diag.NewSource("", "{}\n"), queues)
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(q.dir, ".planned-*.json")
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "write to %s: %v", q.dir, exit.Cause(err))
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
	return planned, planned.Load(q.c)
}

func (q *quickstart) plannedQueue(alias, kind string) infra.Queue {
	most := int32(0)
	_, _ = fmt.Sscan(q.given[kind+"MaxvCpus"], &most) // CloudFormation refuses what is no number
	return infra.Queue{Alias: alias, JobQueue: q.stacks.Prefix + "-" + alias,
		Environments: []infra.Environment{{Name: q.stacks.Prefix + "-" + alias, Type: "EC2", InstanceTypes: strings.Split(q.given[kind+"InstanceTypes"], ","), MaxvCpus: most}}}
}

func longestOf(jobs []cost.Estimate, name string) time.Duration {
	i := slices.IndexFunc(jobs, func(e cost.Estimate) bool { return e.Job == name })
	return time.Duration(jobs[i].TimeoutSeconds) * time.Duration(jobs[i].Attempts) * time.Second
}

// add counts jobs that run on one of the types: all of their time, on the dearest. Of a
// family the estimate's own bound is taken.
func (o *quickOffer) add(jobs []cost.Estimate, types []string) {
	o.jobs = append(o.jobs, jobs...)
	for _, e := range jobs {
		dearest, known := 0.0, true
		for _, name := range types {
			usd, ok := o.prices.Instance(o.region, strings.TrimSpace(name))
			dearest, known = max(dearest, usd), known && ok
		}
		high := e.Cost.High
		switch {
		case e.TimeoutSeconds == 0:
			o.why = cost.NoTimeout
		case known:
			o.most += dearest * float64(e.TimeoutSeconds) / 3600 * float64(e.Attempts)
		case high.Known():
			o.most += high.USD
		default:
			o.why = high.Without[0].Why
		}
	}
}

// stand adds what costs by the hour.
func (o *quickOffer) stand(given map[string]string) {
	items := map[string]int{catalog.NATGateway: 1, catalog.PublicIPv4: 1}
	words := map[string]string{catalog.NATGateway: "a NAT gateway", catalog.PublicIPv4: "its address"}
	if given["Nat"] != "true" {
		zones := 2
		if given["Zones"] == "3" {
			zones = 3
		}
		n := interfaceEndpoints()
		items, words = map[string]int{catalog.VPCEndpoint: n * zones}, map[string]string{catalog.VPCEndpoint: fmt.Sprintf("%d interface endpoints in %d zones", n, zones)}
	}
	for _, item := range catalog.StandingItems() {
		if items[item] == 0 {
			continue
		}
		usd, ok := o.prices.Standing(o.region, item)
		if !ok {
			o.why = fmt.Sprintf("there is no price of %s in %s", item, o.region)
		}
		o.hourly += usd * float64(items[item])
		o.standing = append(o.standing, words[item])
	}
}

// all is what all of it costs at most, in its longest time.
func (o *quickOffer) all() float64 { return o.most + o.hourly*math.Ceil(o.longest.Hours()) }

// hours is the longest time in whole hours, as what stands is billed.
func (o *quickOffer) hours() string { return fmt.Sprintf("%.0f h", math.Ceil(o.longest.Hours())) }

// within refuses what may cost more than --max-cost.
func (o *quickOffer) within(word string) error {
	if word == "" {
		return nil
	}
	limit, err := cost.ParseUSD(word)
	switch {
	case err != nil:
		return exit.Usage("--max-cost %s: %v", word, err).Try("write US dollars: --max-cost 20, --max-cost 0.50")
	case o.why != "":
		return exit.Fail(exit.Problem, "whether it stays within %s USD is not known: %s: nothing was made", cost.Figure(limit), o.why).
			Try("give prices: --prices FILE, or leave --max-cost out")
	case o.all() > limit:
		return exit.Fail(exit.Problem, "it may cost %s USD, and %s are allowed: nothing was made", cost.Figure(o.all()), cost.Figure(limit)).
			Try("shorten the jobs: --set timeout=10m, and the wait for their start: --start-limit 15m")
	}
	return nil
}

// text is the offer for people.
func (o *quickOffer) text(q *quickstart) string {
	g := &preview.PlanPage{Con: q.Console, Width: term.Width(q.Err)}
	var names []string
	for _, t := range q.wanted() {
		names = append(names, t.Name)
	}
	g.Line("makes", "%s %s-NAME: %s", term.Plural(len(names), "CloudFormation stack"), q.stacks.Prefix, strings.Join(names, ", "))
	for _, line := range q.images.offer() {
		g.More("%s", line)
	}
	for i, e := range o.jobs {
		label := ""
		if i == 0 {
			label = "runs"
		}
		g.Line(label, "%s on %s, %s at most", e.Job, e.Queue, preview.TimeoutText(e.TimeoutSeconds*int64(e.Attempts)))
	}
	g.Line("takes", "about 20 minutes, half of it for the stacks; %s at most", o.hours())
	if o.why != "" {
		g.Line("costs", "not known: %s", o.why)
	} else {
		g.Line("costs", "%s USD at most: %s for the jobs, %s for the rest in %s", cost.Figure(o.all()), cost.Figure(o.most), cost.Figure(o.all()-o.most), o.hours())
		g.More("starts and idle minutes of machines, disks, logs, transfers come on top")
	}
	g.Line("left", "%s USD an hour for as long as it stays: %s", cost.Figure(o.hourly), strings.Join(o.standing, " and "))
	from := o.prices.String() + ", " + o.region
	if o.elswhere {
		from += ", for want of those of " + q.t.Config.Region + ": --prices FILE"
	}
	g.Line("prices", "%s", from)
	after := "gone afterwards: --destroy-after"
	if !q.c.Bool("destroy-after") {
		after = "removed by: " + q.again("destroy")
	}
	g.Line("ends", "%s", after)
	return g.Text.String()
}

// interfaceEndpoints counts the endpoints that the template makes in each zone.
func interfaceEndpoints() int {
	for _, t := range quickTemplates() {
		if t.Name == "endpoints" {
			return strings.Count(string(t.Body), `"VpcEndpointType": "Interface"`)
		}
	}
	return 0
}

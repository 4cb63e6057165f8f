package plantext

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/text"
)

// Target names the target, and the reason if it was not queried.
func Target(w *plan.TargetState) string {
	if w.Unreached == "" {
		return w.Target
	}
	return w.Target + ", not checked: " + w.Unreached
}

// OnMachine says how the job fits on the machine of the local engine: "this machine: 1 of 2 vCPU, 512 MiB of 7.6 GiB".
// It returns "" for an environment of AWS.
func OnMachine(r plan.EnvironmentFit, n plan.Need) string {
	where := "this machine"
	if r.IsLocal && r.Name != batch.LocalEnvironment {
		where += " (" + r.Name + ")"
	}
	switch {
	case !r.IsLocal:
		return ""
	case !r.Usable():
		return where + ": " + r.Why()
	case !r.Fits:
		return where + ": does not fit: " + r.Reason
	case len(r.Machines) == 0:
		return where + ": " + r.Reason
	}
	return where + ": " + n.Total().Of(r.Machines[0].Total)
}

// Fit says how the job fits on the machines, as "4 jobs per m5.xlarge".
func Fit(r plan.EnvironmentFit, n plan.Need) string {
	if r.IsFargate() {
		return "Fargate has " + n.Parts[0].Request.String()
	}
	var parts []string
	for i, p := range n.Parts {
		t, most := r.Holds[i].Instance.Name, r.Holds[i].PerInstance
		switch {
		case p.Nodes > 1 || len(n.Parts) > 1:
			parts = append(parts, text.Count(p.Nodes, "node")+" on "+t)
		default:
			parts = append(parts, text.Count(most, "job")+" per "+t)
		}
	}
	return strings.Join(parts, ", ")
}

// Headroom says how many of the jobs run at the same time at maxvCpus.
func Headroom(r plan.EnvironmentFit) string {
	if r.AtOnce == 0 {
		return ""
	}
	text := fmt.Sprintf(", at most %d at once (maxvCpus %d", r.AtOnce, r.MaxvCpus)
	if r.State != "" && !r.IsFargate() {
		text += fmt.Sprintf(", %d now", r.DesiredvCpus)
	}
	return text + ")"
}

// Price is the price of a job: "2.45 to 7.34 USD (on demand)", or
// "about 0.01 USD (Spot) to 0.014 USD (on demand)".
func Price(c *plan.Cost) string {
	least, most := c.Range()
	price := text.USDRange(least, most)
	switch {
	case c.IsUpTo():
		price = "up to " + text.USD(most)
	case slices.ContainsFunc(c.Order, func(s plan.Step) bool { return s.Cost.Spot && s.Unknown == "" }) &&
		price != text.USD(most):
		price = "about " + text.USD(least) + " (Spot) to " + text.USD(most)
	}
	price += " (on demand)"
	if c.Hours == 0 {
		price += " an hour, without an upper bound: there is no timeout"
	}
	if names := c.Without(); len(names) > 0 {
		price += ", without " + strings.Join(names, ", ")
	}
	return price
}

// SpotNote warns that Spot prices vary, with the days of the table's prices.
func SpotNote(prices *catalog.Prices) string {
	return "Spot prices vary; the range is " + cmp.Or(prices.SpotBetween(),
		"that of "+cmp.Or(prices.Day(), "the table's day"))
}

// Arithmetic shows how a bound is calculated: "1/4 of m5.xlarge at 0.192 USD/h x 1h
// = 0.048 USD".
func Arithmetic(c *plan.Cost, least bool) string {
	var parts []string
	for _, l := range c.Lines {
		parts = append(parts, lineOf(l, least))
	}
	if c.StorageGB > 0 {
		parts = append(parts, fmt.Sprintf("%d GB of storage at %s USD", c.StorageGB, figure(c.Storage)))
	}
	if c.Address > 0 {
		parts = append(parts, "a public IPv4 address at "+figure(c.Address)+" USD")
	}
	sum, total, meter, bid := strings.Join(parts, " + "), c.Most, c.Meter.Whole(), c.BidPercentage
	if len(parts) > 1 {
		sum = "(" + sum + ")"
	}
	if least {
		total, meter = c.Least, c.Meter
	}
	if least && c.SpotLow > 0 {
		sum, bid = "its share at "+text.USD(c.SpotLow)+"/h on Spot", 0
	}
	switch billed := meter.Billed(c.Seconds()); {
	case c.Hours == 0:
	case billed > c.Seconds():
		sum += fmt.Sprintf(" x %s (AWS bills no less)", Hours(billed/3600))
	default:
		sum += " x " + Hours(c.Hours)
	}
	if !least && c.Attempts > 1 {
		sum += fmt.Sprintf(" x %d attempts", c.Attempts)
	}
	if c.Children > 1 {
		sum += fmt.Sprintf(" x %d children", c.Children)
	}
	if bid > 0 {
		sum += fmt.Sprintf(" x %d %% (bidPercentage)", bid)
	}
	sum += " = " + text.USD(total)
	if c.Hours == 0 {
		sum += "/h"
	}
	return sum
}

// lineOf shows the hourly price of one part: a share of an instance for the least
// cost, a whole instance for the most.
func lineOf(l plan.CostLine, least bool) string {
	nodes := ""
	if l.Nodes > 1 {
		nodes = fmt.Sprintf("%d x ", l.Nodes)
	}
	switch {
	case l.Price != catalog.FargatePrice{}:
		return fmt.Sprintf("%s(%s vCPU at %s USD + %s GB at %s USD)/h", nodes, figure(l.VCPUs), figure(l.Price.VCPU),
			figure(l.GB), figure(l.Price.GB))
	case least && l.PerInstance > 1:
		return fmt.Sprintf("%s1/%d of %s at %s USD/h", nodes, l.PerInstance, l.On, figure(l.Hour))
	}
	return fmt.Sprintf("%s%s at %s USD/h", nodes, l.On, figure(l.Hour))
}

// figure formats a number with as many digits as it needs.
func figure(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Hours formats a number of hours: 1h, 30m, 1h30m.
func Hours(h float64) string {
	return text.ExactDuration(time.Duration(h * float64(time.Hour)).Round(time.Second))
}

package plantext

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Target names the target, and the reason if it was not queried.
func Target(w *plan.TargetState) string {
	if w.Unreached == "" {
		return w.Target
	}
	return w.Target + ", not checked: " + w.Unreached
}

// Fit says how the job fits on the machines, as "4 fit on m5.xlarge".
func Fit(r plan.EnvironmentFit, n plan.Need) string {
	if r.IsFargate() {
		return "Fargate has " + n.Parts[0].Request.String()
	}
	var parts []string
	for i, p := range n.Parts {
		t, most := r.Holds[i].Instance.Name, r.Holds[i].PerInstance
		switch {
		case p.Nodes > 1 || len(n.Parts) > 1:
			parts = append(parts, plural(p.Nodes, "node")+" on "+t)
		case most == 1:
			parts = append(parts, "1 fits on "+t)
		default:
			parts = append(parts, fmt.Sprintf("%d fit on %s", most, t))
		}
	}
	return strings.Join(parts, ", ")
}

// Headroom says how many of the jobs run at the same time at maxvCpus.
func Headroom(r plan.EnvironmentFit) string {
	if r.AtOnce == 0 {
		return ""
	}
	text := fmt.Sprintf("; %d at once at maxvCpus %d", r.AtOnce, r.MaxvCpus)
	if r.State != "" && !r.IsFargate() {
		text += fmt.Sprintf(" (%d now)", r.DesiredvCpus)
	}
	return text
}

// PurchaseOptions says which prices a job's range covers.
func PurchaseOptions(c *plan.Cost) string {
	isSpot := func(s plan.Step) bool { return strings.HasSuffix(s.Type, "SPOT") }
	if slices.ContainsFunc(c.Order, isSpot) && slices.ContainsFunc(c.Order, func(s plan.Step) bool { return !isSpot(s) }) {
		return "from Spot to on demand"
	}
	return "on demand"
}

// SpotNote warns that Spot prices vary, with the days of the table's prices.
func SpotNote(prices *catalog.Prices) string {
	return "Spot prices vary; the range is " + cmp.Or(prices.SpotBetween(), "that of "+cmp.Or(prices.Day(), "the table's day"))
}

// Arithmetic shows how a bound is calculated: "1/4 of m5.xlarge at $0.192/h x 1h
// = $0.048".
func Arithmetic(c *plan.Cost, least bool) string {
	var parts []string
	for _, l := range c.Lines {
		parts = append(parts, lineOf(l, least))
	}
	if c.StorageGB > 0 {
		parts = append(parts, fmt.Sprintf("%d GB of storage at $%s", c.StorageGB, figure(c.Storage)))
	}
	text, total := strings.Join(parts, " + "), c.Most
	if len(parts) > 1 {
		text = "(" + text + ")"
	}
	if least {
		total = c.Least
	}
	if c.Hours > 0 {
		text += " x " + Hours(c.Hours)
	}
	if !least && c.Attempts > 1 {
		text += fmt.Sprintf(" x %d attempts", c.Attempts)
	}
	if c.Children > 1 {
		text += fmt.Sprintf(" x %d children", c.Children)
	}
	if c.BidPercentage > 0 {
		text += fmt.Sprintf(" x %d %% (bidPercentage)", c.BidPercentage)
	}
	text += " = " + Dollars(total)
	if c.Hours == 0 {
		text += "/h"
	}
	return text
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
		return fmt.Sprintf("%s(%s vCPU at $%s + %s GB at $%s)/h", nodes, figure(l.VCPUs), figure(l.Price.VCPU), figure(l.GB), figure(l.Price.GB))
	case least && l.PerInstance > 1:
		return fmt.Sprintf("%s1/%d of %s at $%s/h", nodes, l.PerInstance, l.On, figure(l.Hour))
	}
	return fmt.Sprintf("%s%s at $%s/h", nodes, l.On, figure(l.Hour))
}

// Between formats a range of US dollars, or one amount if both ends look the
// same.
func Between(from, to float64) string {
	if Dollars(from) == Dollars(to) {
		return Dollars(from)
	}
	return Dollars(from) + " to " + Dollars(to)
}

// Dollars rounds to cents, and amounts below a dollar to three significant
// figures.
func Dollars(usd float64) string {
	if usd >= 1 || usd == 0 {
		return fmt.Sprintf("$%.2f", usd)
	}
	short, err := strconv.ParseFloat(fmt.Sprintf("%.3g", usd), 64)
	if err != nil {
		return fmt.Sprintf("$%g", usd)
	}
	return "$" + figure(short)
}

// figure formats a number with as many digits as it needs.
func figure(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Hours formats a number of hours: 1h, 30m, 1h30m.
func Hours(h float64) string {
	text := time.Duration(h * float64(time.Hour)).Round(time.Second).String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// plural returns a number and a noun, with an s unless the number is 1.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

package bench

import (
	"fmt"
	"math"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/report"
	"github.com/batchctl/batchctl/pkg/text"
)

// Price is the price of an hour of one side.
type Price struct {
	// USDPerHour is positive.
	USDPerHour float64 `json:"usdPerHour"`
	// What names the priced item: "c7i.4xlarge in us-east-1, on demand".
	What string `json:"what"`
	// Date is the day of the price, and Source where it is from.
	Date   string `json:"date,omitempty"`
	Source string `json:"source,omitempty"`
}

// String returns the price with its item, and its day or source.
func (p Price) String() string {
	text := usd(p.USDPerHour) + " an hour"
	if p.What != "" {
		text += " (" + p.What + ")"
	}
	switch {
	case p.Date != "":
		text += ", price of " + p.Date
	case p.Source != "":
		text += ", " + p.Source
	}
	return text
}

// of returns the price of a number of seconds.
func (p Price) of(seconds float64) float64 { return catalog.Meter{}.USD(p.USDPerHour, seconds, 1) }

// Prices are the prices of the two sides; nil if unknown.
type Prices struct {
	Base  *Price `json:"base,omitempty"`
	Other *Price `json:"other,omitempty"`
}

// ratio returns the price of base over that of other; false if one is unknown.
func (p Prices) ratio() (float64, bool) {
	for _, price := range []*Price{p.Base, p.Other} {
		if price == nil || !(price.USDPerHour > 0) || math.IsInf(price.USDPerHour, 0) {
			return 0, false
		}
	}
	return p.Base.USDPerHour / p.Other.USDPerHour, true
}

// Cost is the cost of a pair's compute time on both sides, in US dollars.
type Cost struct {
	Key
	Title string `json:"title"`
	// Efficiency is the cost on base over that on other: above 1, other is cheaper.
	Efficiency Ratio `json:"costEfficiency"`
	// BaseUnit and OtherUnit are for one unit of work; 0 if the amount of work is unknown.
	Unit      string  `json:"unit,omitempty"`
	BaseUnit  float64 `json:"basePerUnit,omitempty"`
	OtherUnit float64 `json:"otherPerUnit,omitempty"`
	// BaseThousand and OtherThousand are for 1,000 repeats.
	BaseThousand  float64 `json:"basePerThousand"`
	OtherThousand float64 `json:"otherPerThousand"`
}

// Name returns the row's name in a report.
func (c *Cost) Name() string { return c.Title + " " + c.where() }

// Choice is the outcome of a decision.
type Choice string

// Choices. BySize means that neither side is better for all rows.
const (
	ChooseBase  Choice = "base"
	ChooseOther Choice = "other"
	BySize      Choice = "by size"
	Undecided   Choice = "undecided"
)

// Decision is the recommendation of a side, with its reasons.
type Decision struct {
	Choice Choice `json:"choice"`
	// By is what decides: "cost", or "time" if a price is unknown.
	By string `json:"by"`
	// Overall is the side for all rows together, if their total is clear. It matters if the
	// choice is BySize and one job must run everything.
	Overall Choice `json:"overall"`
	// Sentences are the recommendation, a sentence each.
	Sentences []string `json:"words"`
	Prices    Prices   `json:"prices"`
	// Efficiency is the total's cost on base over that on other; nil without prices.
	Efficiency *Ratio   `json:"costEfficiency,omitempty"`
	Costs      []*Cost  `json:"costs,omitempty"`
	Curves     []*Curve `json:"curves,omitempty"`
	// Patch changes the job file of the side that is not chosen. It is nil if there is nothing
	// to change, or if neither side is chosen.
	Patch *Patch `json:"patch,omitempty"`
}

// Decide chooses a side: the cheaper one if both prices are known, or else the faster one. The
// patch is the difference between the jobs. The error means that a job file is not valid.
func Decide(c *Comparison, prices Prices, jobs Jobs) (*Decision, error) {
	factor, priced := prices.ratio()
	d := &Decision{By: "cost", Prices: prices, Choice: Undecided, Overall: Undecided, Curves: curves(c.Pairs)}
	better := "cheaper"
	if !priced {
		d.By, better, factor = "time", "faster", 1
	}
	for _, curve := range d.Curves {
		curve.ByTime = curve.breakEven(1, c.Base.Name, c.Other.Name, "faster")
		if priced {
			curve.ByCost = curve.breakEven(factor, c.Base.Name, c.Other.Name, "cheaper")
		}
	}
	if priced {
		d.count(c, factor)
	}
	d.choose(c, factor)
	d.describe(c, factor, better)
	return d, d.patch(jobs)
}

// count calculates the costs of all pairs and of their total. factor is the ratio
// of the prices.
func (d *Decision) count(c *Comparison, factor float64) {
	for _, p := range c.Pairs {
		base, other := p.Base.Summary.Median, p.Other.Summary.Median
		cost := &Cost{
			Key: p.Key, Title: p.Title, Efficiency: p.SpeedUp.times(factor),
			BaseThousand: d.Prices.Base.of(1000 * base), OtherThousand: d.Prices.Other.of(1000 * other),
		}
		if p.Work.Amount > 0 {
			cost.Unit = p.Work.Unit
			cost.BaseUnit, cost.OtherUnit = d.Prices.Base.of(base)/p.Work.Amount, d.Prices.Other.of(other)/p.Work.Amount
		}
		d.Costs = append(d.Costs, cost)
	}
	if c.Total != nil {
		total := c.Total.SpeedUp.times(factor)
		d.Efficiency = &total
	}
}

// choose counts the rows with a clear better side. If each side is clearly better
// for a row, the choice depends on the size. If no row is clear, or the total is
// not, it is undecided.
func (d *Decision) choose(c *Comparison, factor float64) {
	if c.Total == nil {
		return
	}
	rows := map[Choice]int{}
	for _, p := range c.Pairs {
		rows[verdictOf(p.SpeedUp.times(factor))]++
	}
	d.Overall = verdictOf(c.Total.SpeedUp.times(factor))
	switch {
	case rows[ChooseBase] > 0 && rows[ChooseOther] > 0:
		d.Choice = BySize
	case rows[ChooseBase]+rows[ChooseOther] > 0:
		d.Choice = d.Overall
	}
}

// verdictOf returns the side that a ratio favours, if the ratio is clear.
func verdictOf(r Ratio) Choice {
	switch {
	case !r.Clear():
		return Undecided
	case r.Value > 1:
		return ChooseOther
	}
	return ChooseBase
}

// describe writes the sentences of the decision.
func (d *Decision) describe(c *Comparison, factor float64, better string) {
	if c.Total == nil {
		d.add("Nothing can be decided: no row was measured on both sides.")
		if c.Other.Absent != "" {
			d.add("The %s side has none: %s.", c.Other.Name, c.Other.Absent)
		}
		d.describeBusy(c)
		return
	}
	d.describeChoice(c, better)
	d.describeBusy(c)
	t := c.Total
	d.add("All %s together take %s seconds on %s and %s on %s: %s.", text.Count(t.Rows, "row"), digits(t.Base),
		c.Base.Name,
		digits(t.Other), c.Other.Name,
		d.compared(t.SpeedUp, c, "as fast"))
	if d.Efficiency != nil {
		d.add("%[2]s costs %[1]s. %[4]s costs %[3]s. Cost-efficiency ratio (%[2]s price x %[2]s time over %[4]s price x %[4]s time): %[5]s.",
			d.Prices.Base, c.Base.Name, d.Prices.Other, c.Other.Name, ranged(*d.Efficiency))
		d.add("The costs cover only compute time. First calls, the start of instances and containers, transfers and idle time are extra.")
	} else {
		d.add("At least one side has no price, so the decision is by time only; with prices, it may differ.")
	}
	for _, curve := range d.Curves {
		even := curve.ByTime
		if curve.ByCost != nil {
			even = curve.ByCost
		}
		d.add("Break-even of %s: %s.", report.Visible(curve.Name()), even.Summary)
	}
}

// describeChoice writes the sentence to read first.
func (d *Decision) describeChoice(c *Comparison, better string) {
	switch d.Choice {
	case ChooseBase:
		d.add("Run it on %s: it is %s.", c.Base.Name, better)
	case ChooseOther:
		d.add("Run it on %s: it is %s.", c.Other.Name, better)
	case BySize:
		d.add("Neither side is %s for all rows: choose by operation and size.", better)
		switch d.Overall {
		case ChooseBase:
			d.add("If one job has to run all rows, %s is %s.", c.Base.Name, better)
		case ChooseOther:
			d.add("If one job has to run all rows, %s is %s.", c.Other.Name, better)
		}
	default:
		d.add("The repeats do not show which side is %s: raise --repeats.", better)
	}
}

// describeBusy counts the rows that the decision leaves out because they are not a measurement.
func (d *Decision) describeBusy(c *Comparison) {
	n := 0
	for i := range c.Unpaired {
		if c.Unpaired[i].Busy {
			n++
		}
	}
	switch {
	case n == 0:
	case n == 1:
		d.add("The machine was busy: 1 row is not a measurement, and the decision leaves it out. Run again on an idle machine, or with more --runs.")
	default:
		d.add("The machine was busy: %d rows are not a measurement, and the decision leaves them out. Run again on an idle machine, or with more --runs.", n)
	}
}

// compared describes a ratio from the view of the better side.
func (d *Decision) compared(r Ratio, c *Comparison, what string) string {
	name := c.Other.Name
	if r.Value < 1 {
		name, r = c.Base.Name, r.inverse()
	}
	text := fmt.Sprintf("%s is %s times %s", name, digits(r.Value), what)
	if r.Interval != nil {
		text += fmt.Sprintf(", %s to %s with a confidence of %s", digits(r.Interval.Low), digits(r.Interval.High),
			percent(r.Interval.Confidence))
	}
	return text
}

// inverse returns the ratio with its sides exchanged.
func (r Ratio) inverse() Ratio {
	inverse := Ratio{Value: 1 / r.Value}
	if i := r.Interval; i != nil {
		inverse.Interval = &Interval{1 / i.High, 1 / i.Low, i.Confidence}
	}
	return inverse
}

// add adds a sentence.
func (d *Decision) add(format string, args ...any) {
	d.Sentences = append(d.Sentences, fmt.Sprintf(format, args...))
}

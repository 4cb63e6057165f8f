package forecast

import (
	"fmt"
	"time"

	"github.com/batchctl/batchctl/pkg/text"
)

// WaitText formats milliseconds.
func WaitText(ms float64) string { return text.Duration(time.Duration(ms) * time.Millisecond) }

// Text formats a band: its median, and the ends in brackets where they differ.
func (b Band) Text(format func(float64) string) string {
	median, low, high := format(b.Median), format(b.Low), format(b.High)
	if low == high {
		return median
	}
	return fmt.Sprintf("%s (%s to %s)", median, low, high)
}

func hours(v float64) string { return fmt.Sprintf("%.1f", v) }

func index(v float64) string { return fmt.Sprintf("%.2f", v) }

func count(v float64) string { return fmt.Sprintf("%.0f", v) }

// Figure is one figure of an outlook as people read it.
type Figure struct {
	Name   string
	of     func(Outlook) Band
	format func(float64) string
}

// Text returns the figure of an outlook with its band.
func (f Figure) Text(v Outlook) string { return f.of(v).Text(f.format) }

// Figures are the figures of an outlook that no share or team has.
var Figures = []Figure{
	{"cost in USD", func(v Outlook) Band { return v.CostUSD }, text.Money},
	{"idle vCPU hours", func(v Outlook) Band { return v.IdleVCPUHours }, hours},
	{"fairness (Jain's index)", func(v Outlook) Band { return v.Fairness }, index},
	{"jobs that do not start", func(v Outlook) Band { return v.Unstarted }, count},
}

// Cells returns the figures of a group: jobs, the 50th and 95th percentile of its waits, vCPU hours and cost.
func (g Group) Cells() []string {
	wait := func(b *Band) string {
		switch {
		case g.Jobs == 0: // its jobs run already, or only the other outlook has the group
			return "-"
		case b == nil:
			return neverText
		}
		return b.Text(WaitText)
	}
	return []string{fmt.Sprint(g.Jobs), wait(g.P50), wait(g.P95), g.VCPUHours.Text(hours),
		g.CostUSD.Text(text.Money) + " USD"}
}

// neverText is the wait of a job that never starts.
const neverText = "never"

// NeverTexts names the groups of an outlook with jobs that never start.
func (o Outlook) NeverTexts() (texts []string) {
	for _, g := range o.Groups {
		if g.Never > 0 {
			of := ""
			if g.Name != noShare {
				of = " of share " + g.Name
			}
			texts = append(texts, fmt.Sprintf("%s: no enabled environment of the queue fits", neverStart(g.Never, of)))
		}
	}
	return texts
}

// neverStart says how many jobs of a group never start.
func neverStart(n int, of string) string {
	if n == 1 {
		return "1 job" + of + " never starts"
	}
	return fmt.Sprintf("%d jobs%s never start", n, of)
}

// Limits returns the lower ends, the medians and the upper ends of bands.
func Limits(bands []Band) (low, median, high []float64) {
	for _, b := range bands {
		low, median, high = append(low, b.Low), append(median, b.Median), append(high, b.High)
	}
	return low, median, high
}

// Cells returns the figures of a set: its name, maxvCpus, the 95th percentile of the waits, cost, idle vCPU hours,
// fairness, and whether it keeps the limit.
func (s Sizing) Cells() []string {
	keeps := "no"
	if s.Keeps {
		keeps = "yes"
	}
	return []string{s.Name, fmt.Sprint(s.MaxvCpus), s.WaitText(), text.USD(s.Outlook.CostUSD.Median),
		hours(s.Outlook.IdleVCPUHours.Median), index(s.Outlook.Fairness.Median), keeps}
}

// WaitText is the 95th percentile of the waits of a set.
func (s Sizing) WaitText() string {
	if s.P95Ms == nil {
		return neverText
	}
	return WaitText(*s.P95Ms)
}

// Verdict names the cheapest set that keeps a limit of waiting, or the nearest. The sets are those of Sizings, the best
// first.
func Verdict(sets []Sizing, mostWaitMs int64) string {
	limit := WaitText(float64(mostWaitMs))
	if len(sets) == 0 {
		return "no set of queues was tried"
	}
	if best := sets[0]; best.Keeps {
		return fmt.Sprintf("the cheapest set that keeps 95 %% of the waits below %s: %s, maxvCpus %d, %s", limit,
			best.Name, best.MaxvCpus, text.USD(best.Outlook.CostUSD.Median))
	}
	if n := sets[0].Never; n > 0 {
		return "no set starts all jobs: in each, at least " + neverStart(n, "")
	}
	return fmt.Sprintf("no set keeps 95 %% of the waits below %s; the closest: %s, with %s", limit, sets[0].Name,
		sets[0].WaitText())
}

// Searched reports how many sets of queues a sizing report tried, and that a cheaper one may exist.
func Searched(tried int) string {
	return text.Count(tried, "set") + " tried; the search only follows improvements, so a cheaper set may exist"
}

// Cells returns the figures of the forecasts for a queue: those with an outcome, those without, the part that started
// in its interval, how much later than the median, and a verdict.
func (a Accuracy) Cells() []string {
	verdict := "good"
	switch {
	case a.Forecasts < enoughOutcomes:
		verdict = "too few to tell"
	case a.Poor:
		verdict = "poor: do not rely on it"
	}
	coverage, bias := "-", "-"
	if a.Forecasts > 0 {
		coverage, bias = fmt.Sprintf("%.0f %%", 100*a.Coverage),
			WaitText(float64(a.Bias))
	}
	return []string{fmt.Sprint(a.Forecasts), fmt.Sprint(a.Open), coverage, bias, verdict}
}

package cost

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Rate is what an hour of one attempt costs in US dollars: one child of an array, all
// nodes of a multi-node job.
type Rate struct {
	// Meter counts the time of an attempt on its share of a machine.
	catalog.Meter
	// Free says why nothing is to be paid, and Unknown why there is no figure.
	Free    string `json:"free,omitempty"`
	Unknown string `json:"unknown,omitempty"`
	// Order names the environments that take the job, in the order in which AWS Batch tries them;
	// nil unless there are several. The price is between those of all.
	Order []string `json:"order,omitempty"`
	// On is the smallest machine that holds the job, of the cheapest environment:
	// "1/4 of g5.12xlarge".
	On string `json:"on,omitempty"`
	// Share is the job's share of that machine on demand, and Whole the machine.
	Share float64 `json:"share,omitempty"`
	Whole float64 `json:"whole,omitempty"`
	// Spot is the range of the share's Spot price on the date of the prices; nil if it is
	// unknown.
	Spot *catalog.PricePeriod `json:"spot,omitempty"`
	// Least and Most are the share in the cheapest and the most expensive environment of the
	// queue, over the types there that fit the job; Alone has each attempt alone on its
	// machines in the most expensive one. LeastUnknown says why Least is missing, MostUnknown
	// why Most and Alone are.
	Least        float64 `json:"least"`
	Highest      float64 `json:"highest"`
	Alone        float64 `json:"alone"`
	LeastUnknown string  `json:"leastUnknown,omitempty"`
	MostUnknown  string  `json:"mostUnknown,omitempty"`
	// Unused is GPUs that the job does not take; nil for none.
	Unused *Unused `json:"unused,omitempty"`
	// Region is that of the prices, and StandsFor the Region that they replace.
	Region   string `json:"region,omitempty"`
	Replaces string `json:"standsForRegion,omitempty"`
}

// Unused is the GPUs of a machine that a job leaves to others.
type Unused struct {
	On   string `json:"on"`
	GPUs int    `json:"gpus"`
	Of   int    `json:"of"`
	// Hour is what they cost an hour, in US dollars.
	Hour float64 `json:"usdPerHour"`
	// Closed says that no other such job fits beside one.
	Closed bool `json:"closed,omitempty"`
}

// RateOf returns the cost of one hour of a job in the compute environments of its queue.
// region selects the prices, "" those of the table's own Region; isLocal is for the local
// engine.
func RateOf(v plan.JobReview, prices *catalog.Prices, region string, isLocal bool) Rate {
	if isLocal && v.EnvironmentsFrom != plan.FromPlatform {
		return Rate{Free: "this machine costs nothing"}
	}
	if v.Cost == nil {
		return Rate{Unknown: "nothing is submitted"}
	}
	n := v.Need
	n.TimeoutSeconds, n.Attempts, n.Children = 0, 1, 1
	r := Rate{Unknown: v.Cost.Unknown}
	for _, fit := range v.Environments {
		if fit.Usable() && fit.Fits {
			r.add(fit, n, prices, region)
			r.Order = append(r.Order, plan.Step{Name: fit.Name, Type: fit.Type}.String())
		}
	}
	if len(r.Order) == 1 {
		r.Order = nil
	}
	if r.On != "" {
		r.Unknown = ""
	}
	return r
}

// add adds the prices of an environment on which the job fits.
func (r *Rate) add(fit plan.EnvironmentFit, n plan.Need, prices *catalog.Prices, region string) {
	c := plan.CostIn(fit, n, prices, region)
	if c.Unknown != "" {
		r.LeastUnknown, r.MostUnknown = c.Unknown, c.Unknown
		return
	}
	first := r.On == ""
	r.LeastSeconds = max(r.LeastSeconds, c.Meter.LeastSeconds)
	spot, hasSpot := c.SpotHour()
	least, most, alone := c.ShareHour, c.ShareHour, c.WholeHour
	if c.Others > 0 {
		least, most = min(least, c.From), max(most, c.To)
	}
	if c.BidPercentage > 0 {
		bid := float64(c.BidPercentage) / 100
		least, most, alone = least*bid, most*bid, alone*bid
	}
	if c.Spot && hasSpot {
		least = min(least, spot.Low)
	} else if c.Spot {
		r.LeastUnknown = c.NoSpotPrice()
	}
	if first || least < r.Least {
		r.Least = least
	}
	r.Highest = max(r.Highest, most)
	r.Alone = max(r.Alone, alone, most)
	if !first && c.ShareHour >= r.Share {
		return
	}
	r.On, r.Share, r.Whole, r.Spot, r.Unused = machine(c), c.ShareHour, c.WholeHour, nil, unused(fit, n, c)
	r.Region, r.Replaces = c.Region, c.Replaces
	if hasSpot {
		r.Spot = &spot
	}
}

// machine names what a job runs on: "1/4 of g5.12xlarge", "3 x c5n.18xlarge".
func machine(c plan.Cost) string {
	var parts []string
	for _, l := range c.Lines {
		text := l.On
		if l.PerInstance > 1 {
			text = fmt.Sprintf("1/%d of %s", l.PerInstance, l.On)
		}
		if l.Nodes > 1 {
			text = fmt.Sprintf("%d x %s", l.Nodes, text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " + ")
}

// unused is the GPUs beside those of a job of one machine.
func unused(fit plan.EnvironmentFit, n plan.Need, c plan.Cost) *Unused {
	if fit.IsFargate() || len(n.Parts) != 1 || n.Parts[0].Nodes != 1 {
		return nil
	}
	held, takes := fit.Holds[0], n.Parts[0].GPUs
	if takes == 0 || takes >= held.Instance.GPUs {
		return nil
	}
	left := held.Instance.GPUs - takes
	return &Unused{On: held.Instance.Name, GPUs: left, Of: held.Instance.GPUs,
		Hour: c.WholeHour * float64(left) / float64(held.Instance.GPUs), Closed: held.PerInstance == 1}
}

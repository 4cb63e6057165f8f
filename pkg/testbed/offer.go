package testbed

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/infra"
)

// Offer is what a benchmark will cost, and how long it takes.
type Offer struct {
	Jobs   []cost.Estimate
	Prices *catalog.Prices
	// Region is the Region whose prices are taken. Elsewhere says that it is not the target's,
	// for want of its prices.
	Region    string
	Elsewhere bool
	// Most is what the jobs cost at most, in US dollars; Why says why no one knows.
	Most float64
	Why  string
	// Standing are the resources that cost money for as long as they exist. Hourly is their
	// total price an hour, in US dollars.
	Standing []string
	Hourly   float64
	// Longest is how long all of it takes at most.
	Longest time.Duration
}

// NewOffer is the offer of a benchmark without jobs in a Region: an hour for its stacks.
func NewOffer(prices *catalog.Prices, region string) *Offer {
	o := &Offer{Prices: prices, Region: region, Longest: time.Hour}
	if !prices.Has(region) {
		o.Region, o.Elsewhere = catalog.PricesRegion, true
	}
	return o
}

// Add counts jobs that run on one of the types: all of their time, on the most expensive. Of a
// family the estimate's own bound is taken.
func (o *Offer) Add(jobs []cost.Estimate, types []string) {
	o.Jobs = append(o.Jobs, jobs...)
	for _, e := range jobs {
		highest, known := 0.0, true
		for _, name := range types {
			usd, ok := o.Prices.Instance(o.Region, strings.TrimSpace(name))
			highest, known = max(highest, usd), known && ok
		}
		high := e.Cost.High
		switch {
		case e.TimeoutSeconds == 0:
			o.Why = cost.NoTimeout
		case known:
			o.Most += catalog.InstanceMeter().USD(highest, float64(e.TimeoutSeconds), max(e.Children, 1)*e.Attempts)
		case high.Known():
			o.Most += high.USD
		default:
			o.Why = high.Without[0].Why
		}
	}
}

// AddHourly adds what the stacks of the templates cost by the hour, with these parameters.
func (o *Offer) AddHourly(templates []infra.Template, parameters map[string]string) {
	p := infra.PriceOf(templates, parameters, o.Prices, o.Region)
	if !p.Known() {
		o.Why = p.Unknown[0].Why
	}
	o.Hourly += p.High / catalog.HoursPerMonth
	o.Standing = append(o.Standing, p.Standing()...)
}

// Wait counts the longest time of a job that was added: start for its start, and all its attempts.
func (o *Offer) Wait(job string, start time.Duration) {
	i := slices.IndexFunc(o.Jobs, func(e cost.Estimate) bool { return e.Job == job })
	o.Longest += start + time.Duration(o.Jobs[i].TimeoutSeconds)*time.Duration(o.Jobs[i].Attempts)*time.Second
}

// All is what all of it costs at most, in its longest time, in US dollars.
func (o *Offer) All() float64 { return o.Most + catalog.Meter{}.USD(o.Hourly, o.Hours()*3600, 1) }

// Hours is the longest time in whole hours, as what stands is billed.
func (o *Offer) Hours() float64 { return math.Ceil(o.Longest.Hours()) }

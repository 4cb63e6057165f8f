package cost

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Rates calculates the rates of submitted jobs. It is not safe for concurrent use.
type Rates struct {
	// State is the state of the target; nil if only the platform file describes the queue.
	State    *plan.TargetState
	Platform *document.Platform // nil without one
	Prices   *catalog.Prices
	// Queue is the queue whose machines and prices replace those of the jobs' queues; "" for none.
	Queue string

	known map[string]Rate // by queue and definition
}

// Of returns the hourly cost of a job. Jobs with the same requirements in the same queue share the result.
func (r *Rates) Of(d types.JobDetail) (Rate, error) {
	made, err := PlanOf(d, r.Queue)
	if err != nil {
		return Rate{}, fmt.Errorf("read job %s: %w", aws.ToString(d.JobId), err)
	}
	// Equal definitions in the same queue have the same rate.
	key, err := json.Marshal(made.Jobs[0].Register)
	if err != nil {
		return Rate{}, err
	}
	at := aws.ToString(made.Jobs[0].Submit.JobQueue) + string(key)
	rate, ok := r.known[at]
	if !ok {
		region, isLocal := "", false
		if r.State != nil {
			region, isLocal = r.State.Region, r.State.Local
		}
		rate = RateOf(made.Review(r.State, r.Platform, r.Prices).Jobs[0], r.Prices, region, isLocal)
		if isLocal { // even if a platform file describes a queue of this name
			rate = Rate{Free: "this machine costs nothing"}
		}
		if r.known == nil {
			r.known = map[string]Rate{}
		}
		r.known[at] = rate
	}
	return rate, nil
}

// All returns the rates of all jobs so far, each once, in no particular order.
func (r *Rates) All() (rates []Rate) {
	for _, rate := range r.known {
		rates = append(rates, rate)
	}
	return rates
}

// RatesOf returns the rate of each estimate.
func RatesOf(list []Estimate) (rates []Rate) {
	for _, e := range list {
		rates = append(rates, e.Rate)
	}
	return rates
}

// PriceTable describes the prices that an answer uses.
type PriceTable struct {
	Table  string `json:"table"`            // the name of the table
	Date   string `json:"date,omitempty"`   // the day of the prices
	Region string `json:"region,omitempty"` // the Region whose prices are used
	// StandsFor is the Region of the jobs if the table has no prices for it.
	StandsFor string `json:"standsForRegion,omitempty"`
	Source    string `json:"source,omitempty"`
	Between   string `json:"spotBetween,omitempty"` // the days of the Spot prices
}

// NewPriceTable describes a price table and the Region that the rates use. Free
// and unknown rates name no Region.
func NewPriceTable(prices *catalog.Prices, rates []Rate) PriceTable {
	t := PriceTable{Table: prices.String(), Date: prices.Day(), Source: prices.Origin(), Between: prices.SpotBetween()}
	for _, r := range rates {
		if r.Region != "" {
			t.Region, t.StandsFor = r.Region, r.Replaces
		}
	}
	return t
}

// NotIncluded names what the amounts leave out; nil if no rate has a price.
func NotIncluded(rates []Rate) []string {
	isFargate := func(r Rate) bool { return r.On != "" && r.LeastSeconds > 0 }
	onInstances := func(r Rate) bool { return r.On != "" && r.LeastSeconds == 0 }
	fargate, instances := slices.ContainsFunc(rates, isFargate), slices.ContainsFunc(rates, onInstances)
	if !fargate && !instances {
		return nil
	}
	return plan.NotIncluded(fargate, instances)
}

package source

import (
	"fmt"
)

// CostDocument is the part of `batchctl cost --output json` about jobs that ran which the pages show.
type CostDocument struct {
	Target string     `json:"target"`
	Prices CostPrices `json:"prices"`
	Rows   []CostRow  `json:"rows"`
	Total  *CostRow   `json:"total"`
}

// CostPrices names the prices.
type CostPrices struct {
	Table string `json:"table"`
	Date  string `json:"date"`
}

// CostRow is what jobs cost together.
type CostRow struct {
	Name     string    `json:"name"`
	Jobs     int       `json:"jobs"`
	Runs     int       `json:"runs"`
	Failed   int       `json:"failed"`
	Attempts int       `json:"attempts"`
	Seconds  float64   `json:"seconds"`
	Cost     CostRange `json:"cost"`
	Waste    CostRange `json:"waste"`
}

// CostRange is between two amounts in US dollars.
type CostRange struct {
	Low  CostAmount `json:"low"`
	High CostAmount `json:"high"`
}

// CostAmount is an amount, which may be without some jobs.
type CostAmount struct {
	USD     float64 `json:"usd"`
	Without []struct {
		Count int    `json:"count"`
		Why   string `json:"why"`
	} `json:"without"`
}

// Text formats a range as cost does.
func (c CostRange) Text() string {
	low, high := fmt.Sprintf("%.4g", c.Low.USD), fmt.Sprintf("%.4g", c.High.USD)
	switch {
	case len(c.High.Without) > 0 && c.High.USD == 0:
		return "unknown"
	case len(c.High.Without) > 0:
		return "at least " + low + " USD"
	case low == high:
		return high + " USD"
	}
	return low + " to " + high + " USD"
}

package ui

import (
	"fmt"
)

// costDocument is the part of `batchctl cost --output json` about jobs that ran which the pages show.
type costDocument struct {
	Target string     `json:"target"`
	Prices costPrices `json:"prices"`
	Rows   []costRow  `json:"rows"`
	Total  *costRow   `json:"total"`
}

// costPrices names the prices.
type costPrices struct {
	Table string `json:"table"`
	Date  string `json:"date"`
}

// costRow is what jobs cost together.
type costRow struct {
	Name     string    `json:"name"`
	Jobs     int       `json:"jobs"`
	Runs     int       `json:"runs"`
	Failed   int       `json:"failed"`
	Attempts int       `json:"attempts"`
	Seconds  float64   `json:"seconds"`
	Cost     costRange `json:"cost"`
	Waste    costRange `json:"waste"`
}

// costRange is between two amounts in US dollars.
type costRange struct {
	Low  costAmount `json:"low"`
	High costAmount `json:"high"`
}

// costAmount is an amount, which may be without some jobs.
type costAmount struct {
	USD     float64 `json:"usd"`
	Without []struct {
		Count int    `json:"count"`
		Why   string `json:"why"`
	} `json:"without"`
}

// text formats a range as cost does.
func (c costRange) text() string {
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

// Text is text, for templates.
func (c costRange) Text() string { return c.text() }

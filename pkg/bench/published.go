package bench

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Published is a table of measurements from another source.
type Published struct {
	// Source says who measured it, where and when.
	Source string `json:"source"`
	// Notes say what is to be known of it.
	Notes []string       `json:"notes,omitempty"`
	Rows  []PublishedRow `json:"rows"`
}

// PublishedRow is one line of it, in seconds; 0 where it has none.
type PublishedRow struct {
	Operation string  `json:"operation"`
	Base      float64 `json:"base"`
	Other     float64 `json:"other"`
}

//go:embed published.json
var demonstration []byte

// Demonstration is the table of the demonstration of GPUs on AWS Batch that the reference
// jobs follow: the same operations and sizes, measured by its authors.
func Demonstration() *Published {
	p := new(Published)
	if err := json.Unmarshal(demonstration, p); err != nil {
		panic(fmt.Sprintf("bench: published.json: %v", err)) // a file of this package
	}
	return p
}

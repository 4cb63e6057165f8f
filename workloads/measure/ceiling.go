package measure

import "fmt"

// Ceiling is a limit of the machine that was measured in the same run as a row,
// and how near the row came to it.
type Ceiling struct {
	// Name is what was measured, such as "copy bandwidth" or "FMA peak".
	Name string `json:"name"`
	// Rate is the limit in Unit: GB/s or GFLOP/s.
	Rate float64 `json:"rate"`
	Unit string  `json:"unit"`
	// Share is the rate of the row's median repeat divided by Rate. The two are
	// measured one after the other, so it can pass 1 a little; see MostShare.
	Share float64 `json:"share"`
	// Exceedable says that a correct measurement can exceed the limit: a copy reads as
	// much as it writes, and memory serves an operation with another mix faster; see MostMixed.
	Exceedable bool `json:"exceedable,omitempty"`
}

// NewCeiling is a ceiling for a row that reached the given rate, in the same unit.
func NewCeiling(name string, rate float64, unit string, reached float64) Ceiling {
	return Ceiling{Name: name, Rate: rate, Unit: unit, Share: reached / rate}
}

// String is the ceiling in a text line: 84 % of the copy bandwidth (41.2 GB/s).
func (c Ceiling) String() string {
	return fmt.Sprintf("%.0f %% of the %s (%s %s)", 100*c.Share, c.Name, digits(c.Rate), c.Unit)
}

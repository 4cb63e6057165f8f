package measure

import "fmt"

// Bounds of a measurement. A result beyond either of them says more about the load of
// the machine than about the operation; see Result.Doubt.
const (
	// MostShare is the largest share of a measured limit. The limit is measured between
	// the repeats, not during them, and the clock of a processor or a GPU moves by a few
	// percent meanwhile. So a row at the limit can seem up to 5 % faster than the limit.
	MostShare = 1.05
	// MostMixed is the largest share of a limit that is Exceedable. A core that loads twice
	// and stores once in a cycle moves three parts where a copy, which has to store each
	// part that it loads, moves two. In memory the difference is smaller.
	MostMixed = 1.5
	// MostSpread is the largest distance between the fastest and the slowest repeat, in
	// percent of the median. On an idle machine it is a few percent.
	MostSpread = 25
)

// notMeasurement marks a text line whose figures must not be used.
const notMeasurement = "machine busy, not a measurement"

// Doubt returns the reason why the row is not a measurement, such as "spread 486 %" or
// "196 % of the FMA peak", or "" for a row that is one.
func (r Result) Doubt() string {
	for _, c := range r.Ceilings {
		most := MostShare
		if c.Exceedable {
			most = MostMixed
		}
		if c.Share > most {
			return fmt.Sprintf("%.0f %% of the %s", 100*c.Share, c.Name)
		}
	}
	if spread := r.Spread(); spread > MostSpread {
		return "spread " + digits(spread) + " %"
	}
	return ""
}

package plan

// Total is the prices of a plan's jobs together, in US dollars.
type Total struct {
	Least, Most float64
	// Priced is the jobs in the sum, Unbounded those without a timeout, and Unknown
	// those without a price.
	Priced, Unbounded, Unknown int
}

// Total adds up what the jobs of the plan cost.
func (v *Review) Total() (sum Total) {
	for _, j := range v.Jobs {
		switch c := j.Cost; {
		case c == nil:
		case c.Unknown != "" || len(c.Without()) > 0:
			sum.Unknown++
		case c.Hours == 0:
			sum.Unbounded++
		default:
			sum.Priced++
			least, most := c.Range()
			sum.Least, sum.Most = sum.Least+least, sum.Most+most
		}
	}
	return sum
}

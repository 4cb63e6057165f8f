package preview

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/forecast"
)

// TestWhenLine checks the sentence of a forecast: "at once" is only a wait of less than a second.
func TestWhenLine(t *testing.T) {
	const now = 1_790_000_000_000
	within := func(ms int64) forecast.Interval { return forecast.Interval{Low: now, Median: now, High: now + ms} }
	for want, a := range map[string]forecast.Answer{
		"starts at once":                                                                  {Start: within(0)},
		"starts within a minute":                                                          {Start: within(1000)},
		"starts within a minute, behind 8 jobs":                                           {Start: within(12_000), Behind: []forecast.Behind{{Jobs: 8}}},
		"starts within a minute, behind 1 job":                                            {Start: within(59_999), Behind: []forecast.Behind{{Jobs: 1}}},
		"starts at once, behind 2 jobs of share a":                                        {Start: within(500), Behind: []forecast.Behind{{Share: "a", Jobs: 2}}},
		"never starts: no enabled environment of queue q fits big":                        {Never: 1, Unfit: []string{"big"}},
		"starts at once; never starts: no enabled environment of queue q fits big, huge":  {Start: within(0), Unfit: []string{"big", "huge"}},
		"does not start within ten years":                                                 {Never: 0.6},
		"starts within a minute; with maxvCpus 8 of e: at once, for 0.5 USD an hour more": {Start: within(30_000), Larger: &forecast.Larger{Environment: "e", MaxvCpus: 8, Start: within(10), HourUSD: 0.5}},
	} {
		a.Now, a.Queue = now, "q"
		if got := WhenLine(a); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

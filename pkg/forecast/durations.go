package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/batchctl/batchctl/pkg/history"
)

// Source is where the durations of a job come from.
type Source string

// The sources, the best first.
const (
	FromDefinition Source = "definition" // earlier attempts of its job definition
	FromQueue      Source = "queue"      // earlier attempts in its queue
	FromTimeout    Source = "timeout"    // its timeout
	FromNothing    Source = "nothing"    // neither: an assumption
)

// Durations are how long jobs of one kind run.
type Durations struct {
	Source Source
	// Of names the definition or queue.
	Of string
	// Known are the milliseconds of earlier attempts, in ascending order.
	Known []int64
	// Most is the timeout; 0 for none.
	Most int64
}

// The assumptions about jobs without any record. Slurm's users request a multiple of the time that their jobs
// take, which is the reason for a wide draw below the timeout (D. Tsafrir, Y. Etsion, D. Feitelson: "Modeling user
// runtime estimates", JSSPP 2005).
const (
	// unknownMost is the timeout of a job that has neither a record nor a timeout.
	unknownMost = 60 * 60 * 1000
	// leastPart is the shortest duration, as a part of the timeout.
	leastPart = 0.01
)

// Scatter is how far the common factor of a draw spreads: with few earlier attempts, the next ones may all be
// longer or shorter than these were. It is the standard deviation of the factor's logarithm.
func (d Durations) Scatter() float64 {
	if len(d.Known) == 0 {
		return 0
	}
	spread := 0.5
	if len(d.Known) > 1 {
		spread = logSpread(d.Known)
	}
	own := max(spread, 0.05) / math.Sqrt(float64(len(d.Known)))
	if d.Source == FromQueue {
		// Jobs of other definitions need not be like those that ran.
		own = math.Hypot(own, 0.35)
	}
	return own
}

// logSpread is the standard deviation of the logarithms.
func logSpread(sorted []int64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range sorted {
		x := math.Log(float64(max(v, 1)))
		sum += x
		squares += x * x
	}
	n := float64(len(sorted))
	return math.Sqrt(max(squares/n-sum/n*(sum/n), 0) * n / max(n-1, 1))
}

// draw returns a duration. elapsed is how long the job runs already, factor the common factor of the draw.
func (d Durations) draw(r *rand.Rand, elapsed int64, factor float64) int64 {
	if len(d.Known) == 0 {
		most := d.Most
		if most == 0 {
			most = unknownMost
		}
		least := max(float64(elapsed), leastPart*float64(most))
		if least >= float64(most) {
			return max(elapsed+most/10, 1) // its timeout is due, or unknown
		}
		// Uniform in the logarithm: every order of magnitude is as likely.
		return max(int64(math.Exp(math.Log(least)+r.Float64()*(math.Log(float64(most))-math.Log(least)))), 1)
	}
	known := d.Known
	if elapsed > 0 {
		at, _ := slices.BinarySearch(known, int64(float64(elapsed)/factor)+1)
		if at == len(known) {
			// It runs longer than any before it: expect as much again, as for a heavy tail.
			return d.within(elapsed + 1 + int64(r.ExpFloat64()*float64(elapsed)))
		}
		known = known[at:]
	}
	if len(known) == 1 {
		return d.within(int64(factor * float64(known[0])))
	}
	// Between two neighbours, so that a handful of attempts is no handful of values.
	x := r.Float64() * float64(len(known)-1)
	i := int(x)
	low, high := float64(known[i]), float64(known[min(i+1, len(known)-1)])
	return d.within(max(int64(factor*(low+(x-float64(i))*(high-low))), elapsed+1))
}

// within limits a duration to the timeout.
func (d Durations) within(ms int64) int64 {
	if d.Most > 0 {
		ms = min(ms, d.Most)
	}
	return max(ms, 1)
}

// Record is the durations of earlier attempts, by definition and by queue.
type Record struct {
	definitions, queues map[string][]int64
}

// mostKnown is how many attempts count for a definition or a queue: the newest ones.
const mostKnown = 500

// RecordOf returns the record of attempts, which are in the order of recording. Only attempts that SUCCEEDED
// count: a failure ends early or late for its own reasons.
func RecordOf(attempts []history.Attempt) *Record {
	r := &Record{definitions: map[string][]int64{}, queues: map[string][]int64{}}
	add := func(to map[string][]int64, key string, ms int64) {
		if key != "" {
			to[key] = append(to[key], ms)
		}
	}
	for _, a := range attempts {
		if ms := a.Duration().Milliseconds(); ms > 0 && a.Status == "SUCCEEDED" {
			add(r.definitions, nameOf(a.Definition), ms)
			add(r.queues, a.Queue, ms)
		}
	}
	for _, all := range []map[string][]int64{r.definitions, r.queues} {
		for key, list := range all {
			list = slices.Clone(list[max(len(list)-mostKnown, 0):])
			slices.Sort(list)
			all[key] = list
		}
	}
	return r
}

// nameOf returns the name in name:revision.
func nameOf(definition string) string {
	if at := slices.Index([]byte(definition), ':'); at >= 0 {
		return definition[:at]
	}
	return definition
}

// Durations returns the durations of a job: those of its definition, else of its queue, else its timeout in
// seconds.
func (r *Record) Durations(definition, queue string, timeout int64) Durations {
	most := timeout * 1000
	name := nameOf(definition)
	switch {
	case len(r.definitions[name]) > 0:
		return Durations{FromDefinition, name, r.definitions[name], most}
	case len(r.queues[queue]) > 0:
		return Durations{FromQueue, queue, r.queues[queue], most}
	case timeout > 0:
		return Durations{FromTimeout, fmt.Sprintf("%d s", timeout), nil, most}
	}
	return Durations{Source: FromNothing}
}

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

// estimate is what draws need of Durations with known values.
type estimate struct {
	// tail is how fast the parts without an end fall off: the mean of the logarithm there.
	tail float64
	// scatter is how far the common factor of a draw spreads: with few earlier attempts, the next ones may all be
	// longer or shorter than these were. It is the standard deviation of the factor's logarithm, from the error of a
	// lognormal distribution's mean.
	scatter float64
	// scale corrects the mean of the draws, which the tails raise, to that of the known values.
	scale float64
}

// estimate returns what draws need of the Durations.
func (d Durations) estimate() estimate {
	n := float64(len(d.Known))
	if n == 0 {
		return estimate{scale: 1}
	}
	spread := 0.5
	if n > 1 {
		spread = max(logSpread(d.Known), 0.05)
	}
	e := estimate{tail: min(spread/math.Sqrt(2*math.Log(n+1)), 0.5),
		scatter: math.Sqrt(math.Expm1(min(spread*spread, 2)) / n)}
	if d.Source == FromQueue {
		// Jobs of other definitions need not be like those that ran.
		e.scatter = math.Hypot(e.scatter, 0.35)
	}
	sum := 0.0
	for _, v := range d.Known {
		sum += float64(v)
	}
	first, last := float64(d.Known[0]), float64(d.Known[len(d.Known)-1])
	drawn := (sum - (first+last)/2 + first/(1+e.tail) + last/(1-e.tail)) / (n + 1)
	e.scale = sum / n / drawn
	return e
}

// factor draws the common factor of a draw.
func (e estimate) factor(r *rand.Rand) float64 { return e.scale * math.Exp(e.scatter*r.NormFloat64()) }

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

// draw returns a duration. elapsed is how long the job runs already, factor the common factor of the draw, e
// the estimate of d.
func (d Durations) draw(r *rand.Rand, elapsed int64, factor float64, e estimate) int64 {
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
	// n attempts divide the durations into n+1 parts, and the next one is in each with the same probability. The
	// first and the last part have no end: they fall off as a lognormal distribution does there.
	n := len(d.Known)
	past := float64(elapsed) / factor
	at, part := 0, r.Float64()*float64(n+1)-1 // part i is before Known[i+1]
	if elapsed > 0 {
		at, _ = slices.BinarySearch(d.Known, int64(past)+1)
		// The part in which the job is now counts half.
		part = float64(at) - 0.5 + r.Float64()*(float64(n-at)+0.5)
	}
	var ms float64
	switch i := int(math.Floor(part)); {
	case at == n:
		ms = past * math.Exp(e.tail*r.ExpFloat64())
	case part >= float64(n-1):
		ms = float64(d.Known[n-1]) * math.Exp(e.tail*r.ExpFloat64())
	case elapsed > 0 && i < at:
		ms = past + (part-float64(at)+0.5)*2*(float64(d.Known[at])-past)
	case i < 0:
		ms = float64(d.Known[0]) * math.Exp(-e.tail*r.ExpFloat64())
	default:
		low, high := float64(d.Known[i]), float64(d.Known[i+1])
		ms = low + (part-float64(i))*(high-low)
	}
	return max(d.within(int64(factor*ms)), elapsed+1)
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

package forecast

import (
	"cmp"
	"math"
	"slices"
)

// Prediction is a forecast for a job, and later what happened: one line of a file in the state directory.
type Prediction struct {
	Target string `json:"target"`
	Queue  string `json:"queue"`
	// Job is the job's id.
	Job string `json:"job"`
	// Made is when the forecast was made, in epoch milliseconds like the times of Start.
	Made  int64    `json:"made"`
	Start Interval `json:"start"`
	// Started is when the job started; 0 if that is unknown yet.
	Started int64 `json:"started,omitempty"`
}

// Accuracy is how good the forecasts for a queue were.
type Accuracy struct {
	Queue string `json:"queue"`
	// Forecasts is how many have an outcome, Open how many do not yet.
	Forecasts int `json:"forecasts"`
	Open      int `json:"open"`
	// Coverage is the part of the jobs that started within their interval. Coverage of the intervals is right at 0.8.
	Coverage float64 `json:"coverage"`
	// Bias is the median of how much later than forecast the jobs started, in milliseconds.
	Bias int64 `json:"biasMs"`
	// Stretch is the factor by which an interval has to be wider so that four of five jobs start in it.
	Stretch float64 `json:"stretch"`
	// Poor is true if the forecasts of this queue cannot be relied on.
	Poor bool `json:"poor"`
}

const (
	// enoughOutcomes is how many outcomes say something about a queue: the coverage of 30 jobs is known to 15 points.
	enoughOutcomes = 30
	// countedOutcomes is how many outcomes count, the newest ones: queues change.
	countedOutcomes = 300
	// poorCoverage is a coverage that 30 outcomes of right intervals have in one case of a hundred.
	poorCoverage = 0.6
)

// AccuracyOf returns the accuracy of the forecasts for each queue of a target, by name.
func AccuracyOf(target string, all []Prediction) []Accuracy {
	byQueue := map[string][]Prediction{}
	for _, p := range all {
		if p.Target == target {
			byQueue[p.Queue] = append(byQueue[p.Queue], p)
		}
	}
	list := []Accuracy{}
	for queue, predictions := range byQueue {
		list = append(list, accuracyOf(queue, predictions))
	}
	slices.SortStableFunc(list, func(a, b Accuracy) int { return cmp.Compare(a.Queue, b.Queue) })
	return list
}

func accuracyOf(queue string, all []Prediction) Accuracy {
	a := Accuracy{Queue: queue, Stretch: 1}
	var known []Prediction
	for _, p := range all {
		if p.Started == 0 {
			a.Open++
		} else {
			known = append(known, p)
		}
	}
	slices.SortStableFunc(known, func(x, y Prediction) int { return cmp.Compare(x.Made, y.Made) })
	known = known[max(len(known)-countedOutcomes, 0):]
	if a.Forecasts = len(known); a.Forecasts == 0 {
		return a
	}
	within := 0
	var late []int64
	var scores []float64
	for _, p := range known {
		if p.Started >= p.Start.Low && p.Started <= p.Start.High {
			within++
		}
		late = append(late, p.Started-p.Start.Median)
		scores = append(scores, p.score())
	}
	slices.Sort(late)
	slices.Sort(scores)
	a.Coverage, a.Bias = float64(within)/float64(len(known)), Quantile(late, 0.5)
	if len(known) >= enoughOutcomes {
		a.Stretch = min(max(scores[int(Coverage*float64(len(scores)))], 1), 10)
		a.Poor = a.Coverage < poorCoverage
	}
	return a
}

// score is how far from the median a job started, as a part of the interval's half on that side: at most 1 within.
func (p Prediction) score() float64 {
	half, off := p.Start.High-p.Start.Median, p.Started-p.Start.Median
	if off < 0 {
		half, off = p.Start.Median-p.Start.Low, -off
	}
	return float64(off) / math.Max(float64(half), 1000) // a second is no error
}

// Stretched returns the interval wider by a factor, but not before now.
func (i Interval) Stretched(factor float64, now int64) Interval {
	if factor <= 1 {
		return i
	}
	return Interval{max(i.Median-int64(factor*float64(i.Median-i.Low)), now), i.Median,
		i.Median + int64(factor*float64(i.High-i.Median))}
}

package advise

import (
	"math"
	"slices"
)

// A bound covers this quantile of the need with this confidence.
const (
	Quantile   = 0.99
	Confidence = 0.99
)

// LeastRuns is how many measured runs a bound needs. Fewer runs miss a peak of one run in seven with a probability of
// more than 1 %.
const LeastRuns = 30

// mostOfLargest is the largest bound, as a multiple of the largest run. Above it, the bound is mostly margin: the runs
// are too few for their spread.
const mostOfLargest = 1.7

// Method is how a bound was derived.
type Method string

const (
	// OrderStatistic takes the r-th smallest of the runs. It is above the quantile with the probability that a binomial
	// variable of n trials is below r (S. S. Wilks, Determination of sample sizes for setting tolerance limits, 1941).
	// It assumes no distribution, and needs 459 runs.
	OrderStatistic Method = "order statistic"
	// Tail is the larger of two bounds: of a log-normal distribution, and of a generalized Pareto tail above the median.
	Tail Method = "tail"
	// Constant is for runs that differ by less than 1 %.
	Constant Method = "constant"
)

// Bound is an upper bound of what a run needs.
type Bound struct {
	// Value is the bound. It is 0 if the runs do not allow one; Why then has the reason.
	Value float64 `json:"value"`
	Why   string  `json:"why,omitempty"`
	// Method is how the bound was derived.
	Method Method `json:"method,omitempty"`
	// Growth is the factor by which the need grew from the first run to the last; 0 if it did not grow.
	Growth float64 `json:"growth,omitempty"`
	// Upper is how many runs are in the upper of two separate groups; 0 for one group.
	Upper int `json:"upper,omitempty"`
	// Rarest is the rarest kind of run that these runs contain with the probability Confidence, as a share of all runs.
	// The bound does not cover rarer kinds.
	Rarest float64 `json:"rarest,omitempty"`
}

// UpperBound returns the bound from what earlier runs needed, all above 0. jobs has the number of each run's job, in
// the order in which the jobs started; the children of an array share one. It is nil if the order is unknown or does
// not matter. UpperBound assumes that future runs are like these ones, and at the level of the last job.
func UpperBound(needs []float64, jobs []int) Bound {
	b := Bound{}
	if len(needs) < LeastRuns {
		b.Why = "too few runs"
		return b
	}
	b.Rarest = 1 - math.Pow(1-Confidence, 1/float64(len(needs)))
	logs := make([]float64, len(needs))
	for i, need := range needs {
		logs[i] = math.Log(need)
	}
	logs, b.Growth = atLastLevel(logs, jobs)
	slices.Sort(logs)
	largest := logs[len(logs)-1]
	if r := orderStatistic(len(logs)); r > 0 {
		b.Method, b.Value = OrderStatistic, math.Exp(logs[r-1])
		return b
	}
	upper := upperGroup(logs)
	if len(upper) < len(logs) {
		b.Upper = len(upper)
	}
	if len(upper) < leastInGroup {
		b.Why = "too few of the runs that need the most"
		return b
	}
	// The quantile of all runs, as a quantile of the upper group.
	p := 1 - (1-Quantile)*float64(len(logs))/float64(len(upper))
	top := max(largest, normalBound(upper, p), paretoBound(upper, p))
	b.Method = Tail
	if largest-logs[0] < indistinct {
		b.Method, top = Constant, max(top, largest+indistinct)
	}
	if top > largest+math.Log(mostOfLargest) {
		b.Method, b.Why = "", "too few runs for how much they differ"
		return b
	}
	b.Value = math.Exp(top)
	return b
}

// indistinct is a difference of logarithms without a meaning: 1 %.
const indistinct = 0.01

// leastInGroup is how many runs the upper group needs for a bound.
const leastInGroup = 8

// orderStatistic returns the smallest r for which the r-th smallest of n runs is a bound; 0 for too few runs.
func orderStatistic(n int) (r int) {
	atLeast, p := 0.0, math.Pow(Quantile, float64(n)) // of k and of exactly k runs below the quantile
	for k := n; k > 0; k-- {
		if atLeast += p; 1-atLeast < Confidence {
			break
		}
		r = k
		p *= float64(k) / float64(n-k+1) * (1 - Quantile) / Quantile
	}
	return r
}

// growthErrors is how many standard errors a slope needs to count as growth. A normal variable exceeds it once in 4,000
// times.
const growthErrors = 3.5

// atLastLevel shifts all runs to the level of the last job if their need grew from job to job. The growth is the upper
// end of the interval of confidence of a line through the mean logarithms of the jobs. Runs that shrank are unchanged:
// their bound is on the safe side.
func atLastLevel(logs []float64, jobs []int) (shifted []float64, factor float64) {
	if len(jobs) != len(logs) || len(jobs) == 0 {
		return logs, 0
	}
	byJob := make([][]float64, slices.Max(jobs)+1)
	for i, y := range logs {
		byJob[jobs[i]] = append(byJob[jobs[i]], y)
	}
	var levels []float64
	for _, ys := range byJob {
		if len(ys) > 0 {
			levels = append(levels, mean(ys))
		}
	}
	n := float64(len(levels))
	if n < leastJobs {
		return logs, 0
	}
	center, middle := (n-1)/2, mean(levels)
	var xx, xy, yy float64
	for i, y := range levels {
		x := float64(i) - center
		xx, xy, yy = xx+x*x, xy+x*(y-middle), yy+(y-middle)*(y-middle)
	}
	slope := xy / xx
	standardError := math.Sqrt(max(0, yy-slope*xy) / (n - 2) / xx)
	if slope*n < indistinct || slope < growthErrors*standardError {
		return logs, 0
	}
	slope += normalQuantile(Confidence) * standardError
	at := make([]float64, len(byJob)) // jobs without a run have no step
	step := -1.0
	for job, ys := range byJob {
		if len(ys) > 0 {
			step++
		}
		at[job] = step
	}
	shifted = make([]float64, len(logs))
	for i, y := range logs {
		shifted[i] = y + slope*(n-1-at[jobs[i]])
	}
	return shifted, math.Exp(slope * n)
}

// leastJobs is how many jobs show growth.
const leastJobs = 10

// upperGroup returns the upper of two groups, if the largest gap between sorted runs is wider than twice the deviation
// within each group; else all runs.
func upperGroup(sorted []float64) []float64 {
	at, widest := 0, 2*indistinct
	for i := 1; i < len(sorted)-1; i++ { // one run is no group
		if gap := sorted[i] - sorted[i-1]; gap > widest {
			at, widest = i, gap
		}
	}
	if at == 0 || widest < 2*deviation(sorted[:at]) || widest < 2*deviation(sorted[at:]) {
		return sorted
	}
	return sorted[at:]
}

// normalBound returns the tolerance bound of a normal distribution: mean + k * deviation. k is Natrella's approximation
// (NIST/SEMATECH e-Handbook of Statistical Methods, 7.2.6.3).
func normalBound(values []float64, p float64) float64 {
	n := float64(len(values))
	zp, zc := normalQuantile(p), normalQuantile(Confidence)
	a, b := 1-zc*zc/(2*(n-1)), zp*zp-zc*zc/n
	return mean(values) + deviation(values)*(zp+math.Sqrt(max(0, zp*zp-a*b)))/a
}

// paretoBound returns the logarithm of the bound of a tail whose excess over the median has a generalized Pareto
// distribution, from the logarithms of runs. Shape and mean come from L-moments (J. R. M. Hosking and J. R. Wallis,
// Parameter and quantile estimation for the generalized Pareto distribution, 1987). Both are raised by errorsOfShape
// and errorsOfMean.
func paretoBound(sorted []float64, p float64) float64 {
	n := len(sorted)
	k := n / 2
	median := math.Exp(sorted[n-k-1])
	l1, b1 := 0.0, 0.0
	for i, v := range sorted[n-k:] {
		excess := math.Exp(v) - median
		l1 += excess / float64(k)
		b1 += excess * float64(i) / float64(k-1) / float64(k)
	}
	l2 := 2*b1 - l1
	if l2 <= 0 { // no excess differs
		return sorted[n-1]
	}
	root := math.Sqrt(float64(k))
	shape := min(mostShape, 2-l1/l2+errorsOfShape/root)
	l1 *= 1 + errorsOfMean/root
	beyond := float64(k) / float64(n) / (1 - p)
	factor := math.Log(beyond)
	if math.Abs(shape) > 1e-6 {
		factor = (math.Pow(beyond, shape) - 1) / shape
	}
	return math.Log(median + l1*(1-shape)*factor)
}

// The margins of paretoBound for k excesses. The asymptotic deviation of the shape is about 1 over the root of k for an
// exponential tail, and 2.33 of it are 99 %. The mean of a tail with the shape 1/3 deviates by 1.7 over the root of k,
// of which 2.33 are 4; the rest is for the skew of that mean. On 20,000 histories like those of TestSynthetic, these
// bounds cover the percentile of heavy tails in 98.9 % of the cases, and that of other families in 99.7 % or more. A
// tail with a shape of 1 has no mean.
const (
	errorsOfShape = 2.33
	errorsOfMean  = 4.5
	mostShape     = 0.8
)

// mean returns the arithmetic mean.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// deviation returns the standard deviation of a sample.
func deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	m, sum := mean(values), 0.0
	for _, v := range values {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}

// normalQuantile returns a quantile of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

package cost

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

// NoTimeout is why a job without a timeout has no upper bound.
const NoTimeout = "no upper bound: the job has no timeout"

// History is how long such jobs took.
type History struct {
	// Runs is how many were looked at; 0: Unknown says why there are none.
	Runs    int    `json:"runs"`
	Unknown string `json:"unknown,omitempty"`
	// Median is in seconds.
	Median float64 `json:"medianSeconds,omitempty"`
}

// Ran returns how many seconds the last attempt of a job took. ok is false if its times are unknown.
func Ran(job types.JobSummary) (seconds float64, ok bool) {
	// Times are in milliseconds since 1970.
	from, to := aws.ToInt64(job.StartedAt), aws.ToInt64(job.StoppedAt)
	return float64(to-from) / 1000, from != 0 && to >= from
}

// HistoryOf returns the median of the seconds that runs took.
func HistoryOf(seconds []float64) History {
	if len(seconds) == 0 {
		return History{Unknown: "no earlier run"}
	}
	sorted := slices.Sorted(slices.Values(seconds))
	half := len(sorted) / 2
	median := sorted[half]
	if len(sorted)%2 == 0 {
		median = sorted[half-1]/2 + sorted[half]/2
	}
	return History{Runs: len(sorted), Median: median}
}

// Estimate is what a job of a plan will cost.
type Estimate struct {
	Job string `json:"job"`
	// Array is the array that the job is, or is a part of; "" for none.
	Array    string            `json:"array,omitempty"`
	Workflow string            `json:"workflow,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	Queue    string            `json:"queue"`
	Children int               `json:"children"`
	Attempts int               `json:"attempts"`
	// TimeoutSeconds is that of an attempt; 0: none.
	TimeoutSeconds int64   `json:"timeoutSeconds,omitempty"`
	Rate           Rate    `json:"perHour"`
	History        History `json:"history"`
	// Cost is from a single attempt of the median's length, on the job's share of the
	// cheapest machine, to every attempt in full use of its timeout, alone on its machine.
	Cost Range `json:"cost"`
}

// Before returns what the jobs of a plan will cost. history says how long jobs like one
// took; the rest is as RateOf has it.
func Before(name string, v *plan.Review, prices *catalog.Prices, history func(plan.JobReview) History) []Estimate {
	region, isLocal := "", false
	if v.Target != nil {
		region, isLocal = v.Target.Region, v.Target.Local
	}
	var list []Estimate
	for _, j := range v.Jobs {
		if j.Submit == nil {
			continue
		}
		e := Estimate{Job: j.Name, Workflow: name, Tags: j.Submit.Tags, Queue: aws.ToString(j.Submit.JobQueue),
			Children: max(1, j.Need.Children),
			Attempts: max(1, j.Need.Attempts), TimeoutSeconds: j.Need.TimeoutSeconds,
			Rate: RateOf(j, prices, region, isLocal), History: history(j)}
		if j.Submit.ArrayProperties != nil {
			e.Array = j.Group
			if e.Array == "" {
				e.Array = j.Name
			}
		}
		for _, worst := range j.Worst {
			e.climb(RateOf(worst, prices, region, isLocal), worst.Need.Attempts)
		}
		e.Cost = e.between(j.When == document.WhenFailure)
		list = append(list, e)
	}
	return list
}

// climb raises the upper end to what a job costs with its rungs: all of its jobs with the largest
// request.
func (e *Estimate) climb(r Rate, attempts int) {
	e.Attempts = max(e.Attempts, attempts)
	e.Rate.Alone = max(e.Rate.Alone, r.Alone)
	if why := cmp.Or(r.MostUnknown, r.Unknown); why != "" && e.Rate.MostUnknown == "" {
		e.Rate.MostUnknown = "with the largest request of onFailure: " + why
	}
}

// between is the range of an estimate; a job that may not be submitted at all costs
// nothing at the lower end.
func (e Estimate) between(mayStay bool) Range {
	switch r := e.Rate; {
	case r.Free != "":
		return Range{}
	case r.Unknown != "":
		return Range{unknown("%s", r.Unknown), unknown("%s", r.Unknown)}
	}
	var c Range
	timeout := float64(e.TimeoutSeconds)
	switch {
	case mayStay:
	case e.Rate.LeastUnknown != "":
		c.Low = unknown("%s", e.Rate.LeastUnknown)
	case e.History.Runs == 0:
		c.Low = unknown("%s", e.History.Unknown)
	default:
		seconds := e.History.Median
		if timeout > 0 {
			seconds = min(seconds, timeout)
		}
		c.Low.USD = e.Rate.Meter.USD(e.Rate.Least, seconds, e.Children)
	}
	switch {
	case e.Rate.MostUnknown != "":
		c.High = unknown("%s", e.Rate.MostUnknown)
	case timeout == 0:
		c.High = unknown(NoTimeout)
	default:
		c.High.USD = e.Rate.Meter.Whole().USD(e.Rate.Alone, timeout, e.Children*e.Attempts)
	}
	return c
}

// Group is what jobs cost together.
type Group struct {
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
	Cost Range  `json:"cost"`
}

// Together adds up estimates by what a By says, in the order in which the names come.
func Together(list []Estimate, by By) []Group {
	var groups []Group
	for _, e := range list {
		name := by.name(e.Job, e.Array, e.Workflow, e.Tags)
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Name == name })
		if i < 0 {
			i, groups = len(groups), append(groups, Group{Name: name})
		}
		groups[i].Jobs++
		groups[i].Cost = groups[i].Cost.Plus(e.Cost)
	}
	return groups
}

// Total adds up all of them.
func Total(list []Estimate) Group {
	t := Group{Name: "total"}
	for _, e := range list {
		t.Jobs++
		t.Cost = t.Cost.Plus(e.Cost)
	}
	return t
}

// By is what costs are added up by: "job", "array", "workflow", or "tag:" and the name
// of a tag.
type By string

// The ways to group, and the prefix of a tag's name.
const (
	ByJob      By = "job"
	ByArray    By = "array"
	ByWorkflow By = "workflow"
	tagBefore     = "tag:"
)

// Valid reports whether it is one of the four.
func (b By) Valid() bool {
	tag, isTag := b.Tag()
	return b == ByJob || b == ByArray || b == ByWorkflow || isTag && tag != ""
}

// Tag returns the name of the tag.
func (b By) Tag() (name string, ok bool) { return strings.CutPrefix(string(b), tagBefore) }

// name is the group that a job belongs to.
func (b By) name(job, array, workflow string, tags map[string]string) string {
	tag, isTag := b.Tag()
	value, found := tags[tag]
	switch {
	case isTag && !found:
		return "(no tag " + tag + ")"
	case isTag:
		return value
	case b == ByArray && array == "":
		return "(no array)"
	case b == ByArray:
		return array
	case b == ByWorkflow && workflow == "":
		return "(unknown workflow)"
	case b == ByWorkflow:
		return workflow
	}
	return job
}

package forecast

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Answer is when jobs of a queue start.
type Answer struct {
	Queue string `json:"queue"`
	// Now is when the forecast was made, in epoch milliseconds like the times of Start.
	Now   int64    `json:"now"`
	Start Interval `json:"start"`
	// Never is the part of the draws in which the jobs do not start.
	Never float64 `json:"never,omitempty"`
	// Unfit names the jobs that no environment of the queue fits. Start is for the others.
	Unfit []string `json:"unfit,omitempty"`
	// Behind counts the waiting jobs that start before, by share, the most first.
	Behind []Behind `json:"behind,omitempty"`
	// Sources counts the jobs that matter by where their durations come from.
	Sources map[Source]int `json:"sources,omitempty"`
	// Unknown names what the forecast cannot know, and why the interval is wide.
	Unknown []string `json:"unknown,omitempty"`
	// Larger is the same with a larger environment; nil if that would not help.
	Larger *Larger `json:"larger,omitempty"`
}

// Behind is jobs of one share.
type Behind struct {
	Share string `json:"share,omitempty"`
	Jobs  int    `json:"jobs"`
}

// Larger is a forecast with another maxvCpus.
type Larger struct {
	Environment string   `json:"environment"`
	MaxvCpus    int64    `json:"maxvCpus"`
	Start       Interval `json:"start"`
	// HourUSD is what it costs more in the first hour.
	HourUSD float64 `json:"hourUsd"`
}

// Draws is how many draws make an interval.
const Draws = 200

// soon is a wait that counts as none, in milliseconds.
const soon = 60_000

// When returns when the last of some jobs of a State starts, except for those that fit nowhere. workers is how many
// draws run at the same time.
func When(state *State, jobs []int, seed uint64, workers int) (Answer, error) {
	state, perHour := state.expecting(seed, jobs)
	s, err := New(state)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Queue: state.Queues[state.Jobs[jobs[0]].Queue].Name, Now: state.Now, Sources: map[Source]int{}}
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j int) bool {
		fits := s.Fits(j)
		if name := state.Jobs[j].Name; !fits && !slices.Contains(a.Unfit, name) {
			a.Unfit = append(a.Unfit, name)
		}
		return !fits
	})
	if len(jobs) == 0 {
		a.Never = 1
		return a, nil
	}
	draws := s.Starts(jobs, seed, Draws, workers)
	started := slices.DeleteFunc(draws, func(v int64) bool { return v == never })
	a.Never = 1 - float64(len(started))/Draws
	if len(started) > 0 {
		a.Start = IntervalOf(started)
	}
	s.behind(&a, jobs, seed)
	a.Unknown = append(a.Unknown, s.unknown(a, perHour)...)
	if len(started) > 0 && a.Start.Median-state.Now > soon {
		a.Larger, err = s.larger(a, jobs, seed, workers)
	}
	return a, err
}

// behind counts what starts before the jobs in one draw, and where the durations of all jobs come from that matter.
func (s *Simulator) behind(a *Answer, jobs []int, seed uint64) {
	counts := map[string]int{}
	left := len(jobs)
	s.Run(seed, Options{Coarse: true}, func(e Event) bool {
		if e.Kind != Started {
			return true
		}
		j := &s.state.Jobs[e.Job]
		if j.Exact == 0 {
			a.Sources[s.state.Durations[j.Durations].Source]++
		}
		switch {
		case slices.Contains(jobs, e.Job):
			left--
		case j.Started == 0 && j.Chance == 0:
			counts[j.Share]++
		}
		return left > 0
	})
	for share, n := range counts {
		a.Behind = append(a.Behind, Behind{share, n})
	}
	slices.SortStableFunc(a.Behind, func(x, y Behind) int {
		return cmp.Or(cmp.Compare(y.Jobs, x.Jobs),
			cmp.Compare(x.Share, y.Share))
	})
}

// unknown names what this package knows that it cannot know.
func (s *Simulator) unknown(a Answer, perHour float64) (list []string) {
	if !s.local && slices.ContainsFunc(s.state.Environments, func(e Environment) bool { return !e.IsFargate() }) {
		list = append(list, "whether EC2 has capacity")
	}
	if n := a.Sources[FromQueue]; n > 0 {
		list = append(list, fmt.Sprintf("how long %d jobs of other definitions run: estimated from their queue", n))
	}
	if n := a.Sources[FromTimeout] + a.Sources[FromNothing]; n > 0 {
		list = append(list, fmt.Sprintf("how long %d jobs without earlier attempts run", n))
	}
	if perHour > 0 {
		return append(list, fmt.Sprintf("which jobs will be submitted later: assuming %.2g submissions an hour, as before", perHour))
	}
	return append(list, "which jobs will be submitted later")
}

// larger tries twice and four times maxvCpus of the environments of a job's queue.
func (s *Simulator) larger(a Answer, jobs []int, seed uint64, workers int) (*Larger, error) {
	if s.local {
		return nil, nil
	}
	shape := s.shapes[s.shapeOf[jobs[0]]]
	if len(shape.environments) == 0 {
		return nil, nil
	}
	at := shape.environments[0]
	before := s.firstHour(seed)
	for factor := int64(2); factor <= 4; factor *= 2 {
		changed := *s.state
		changed.Environments = slices.Clone(s.state.Environments)
		changed.Environments[at].MaxvCpus *= factor
		t, err := New(&changed)
		if err != nil {
			return nil, err
		}
		const few = Draws / 8
		draws := slices.DeleteFunc(t.Starts(jobs, seed, few, workers), func(v int64) bool { return v == never })
		if len(draws) < few {
			continue
		}
		start := IntervalOf(draws)
		if 2*(start.Median-a.Now) < a.Start.Median-a.Now {
			return &Larger{changed.Environments[at].Name, changed.Environments[at].MaxvCpus, start,
				max(t.firstHour(seed)-before, 0)}, nil
		}
	}
	return nil, nil
}

// firstHour returns what the first hour costs, in USD: the mean of a few draws.
func (s *Simulator) firstHour(seed uint64) float64 {
	const few = 5
	sum := 0.0
	for i := range uint64(few) {
		sum += s.Run(seed+i, Options{Until: s.state.Now + 3_600_000, Coarse: true}, nil).Cost
	}
	return sum / few
}

// Platform returns the platform of jobs that an environment runs.
func (e Environment) Platform() types.PlatformCapability {
	if e.IsFargate() {
		return types.PlatformCapabilityFargate
	}
	return types.PlatformCapabilityEc2
}

package forecast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The jobs that come later matter to a queue with shares or beside other queues: they may start before those that
// wait already.
const (
	// arrivalsCounted is how far back submissions count.
	arrivalsCounted = 24 * 3_600_000
	// arrivalsLeast is the shortest time over which submissions count, so that a burst is no rate.
	arrivalsLeast = 30 * 60_000
	// fewestArrivals is how many submissions make a rate.
	fewestArrivals = 5
	// arrivalsSurplus is how many times more arrivals there are than each draw takes, so that draws differ.
	arrivalsSurplus = 3
	// arrivalsDrift is the standard deviation of the logarithm of the rate: people submit more at some hours.
	arrivalsDrift = 0.3
	// mostArrivals bounds how many arrivals a draw takes.
	mostArrivals = 4000
)

// arrival is a submission: a job, or all children of an array.
type arrival struct {
	at   int64
	jobs []Job
}

// submissions returns what came to the queues lately, in the order of time, without some jobs of the State.
func (s *State) submissions(except []int) (all []arrival) {
	var jobs []Job
	for i, j := range s.Jobs {
		if !slices.Contains(except, i) {
			jobs = append(jobs, j)
		}
	}
	jobs = append(jobs, s.Past...)
	jobs = slices.DeleteFunc(jobs, func(j Job) bool {
		return j.Submitted > s.Now ||
			j.Submitted < s.Now-arrivalsCounted
	})
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Submitted, b.Submitted) })
	for _, j := range jobs {
		j.Started, j.Environment, j.Exact = 0, "", 0
		if len(all) == 0 || all[len(all)-1].at != j.Submitted {
			all = append(all, arrival{at: j.Submitted})
		}
		last := &all[len(all)-1]
		last.jobs = append(last.jobs, j)
	}
	return all
}

// isOvertaken reports whether jobs that come later may start before others.
func (s *State) isOvertaken() bool {
	return len(s.Queues) > 1 || slices.ContainsFunc(s.Queues, func(q Queue) bool { return q.Policy != nil })
}

// expecting returns a State with jobs that may come, like those that came lately. Some jobs of the State do not count.
// perHour is the rate of submissions; 0 if none are assumed.
func (s *State) expecting(seed uint64, except []int) (next *State, perHour float64) {
	if !s.isOvertaken() {
		return s, 0
	}
	came := s.submissions(except)
	if len(came) < fewestArrivals {
		return s, 0
	}
	rate := float64(len(came)) / float64(max(s.Now-came[0].at, arrivalsLeast)) // for a millisecond
	waiting := 0
	for i := range s.Jobs {
		if s.Jobs[i].Started == 0 {
			waiting++
		}
	}
	most := arrivalsSurplus * min(max(2*waiting, 100), mostArrivals)
	copied := *s
	copied.Jobs = slices.Clone(s.Jobs)
	copied.RateSpread = math.Hypot(arrivalsDrift, 1/math.Sqrt(float64(len(came))))
	r := rand.New(rand.NewPCG(seed, 0x6a09e667f3bcc909))
	at := float64(s.Now)
	for len(copied.Jobs) < len(s.Jobs)+most {
		at += r.ExpFloat64()/(arrivalsSurplus*rate) + 1 // no two at one time
		for _, j := range came[r.IntN(len(came))].jobs {
			j.Submitted, j.Chance = int64(at), 1.0/arrivalsSurplus
			copied.Jobs = append(copied.Jobs, j)
		}
	}
	return &copied, rate * 3_600_000
}

// skip passes over the jobs that do not come in this run. All jobs of one moment come, or none.
func (r *run) skip() {
	jobs := r.s.state.Jobs
	for r.next < len(jobs) && jobs[r.next].Chance > 0 {
		if at := jobs[r.next].Submitted; at != r.comesAt {
			r.comesAt, r.comes = at, r.rand.Float64() < jobs[r.next].Chance*r.rate
		}
		if r.comes {
			return
		}
		r.next++
	}
}

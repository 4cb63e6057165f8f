package model

import (
	"math"
)

// share is what the jobs of one share identifier use and have used of a queue.
//
// Batch does not say how its usage decays. Here the past counts half after every
// decay period, so the usage is one number, whatever the number of jobs.
type share struct {
	open  int     // jobs that have not ended
	inUse int64   // thousandths of a vCPU
	mean  float64 // what was in use on average, the past decayed; as of at
	at    int64   // epoch milliseconds
}

// use adds milli to what is in use from now on.
func (s *share) use(now, milli, decay int64) {
	s.mean, s.at = s.average(now, decay), max(now, s.at)
	s.inUse += milli
}

// average is the mean as of now.
func (s *share) average(now, decay int64) float64 {
	kept := math.Exp2(-float64(max(now-s.at, 0)) / float64(decay))
	return s.mean*kept + float64(s.inUse)*(1-kept)
}

// claim is what decides between shares: the one with the lowest goes first. What
// is in use now counts beside the past, so that of many starts at one moment each
// share gets its part.
func (s *share) claim(now, decay int64, weight float64) float64 {
	return weight * (s.average(now, decay) + float64(s.inUse))
}

// isActive reports whether the share counts for the compute reservation: it has
// jobs, or had some within the decay period.
func (s *share) isActive(now, decay int64) bool {
	return s.open > 0 || s.at > 0 && now-s.at < decay
}

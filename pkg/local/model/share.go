package model

import (
	"math"
)

// share is the current and past usage of a queue by the jobs of one share identifier.
//
// Batch does not document how its usage decays. Here past usage halves with every decay period, so
// it is a single number, however many jobs there are.
type share struct {
	number int     // in the order in which the queue met its shares, from 0
	open   int     // jobs that have not ended
	inUse  int64   // thousandths of a vCPU
	mean   float64 // average usage at time at, with the past decayed
	at     int64   // epoch milliseconds
}

// use adds milli to the current usage.
func (s *share) use(now, milli, decay int64) {
	s.mean, s.at = s.average(now, decay), max(now, s.at)
	s.inUse += milli
}

// average returns the mean as of now.
func (s *share) average(now, decay int64) float64 {
	kept := math.Exp2(-float64(max(now-s.at, 0)) / float64(decay))
	return s.mean*kept + float64(s.inUse)*(1-kept)
}

// claim decides between shares: the lowest claim goes first. It counts current usage besides the
// past. So if many jobs start at the same time, each share gets its part.
func (s *share) claim(now, decay int64, weight float64) float64 {
	return weight * (s.average(now, decay) + float64(s.inUse))
}

// isActive reports whether the share counts for the compute reservation: it has jobs, or had some
// within the decay period.
func (s *share) isActive(now, decay int64) bool {
	return s.open > 0 || s.at > 0 && now-s.at < decay
}

package local

import (
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
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

// leastDecay is the decay period in seconds that shareDecaySeconds 0 stands for
// (API reference of FairsharePolicy).
const leastDecay = 600

// decay is the decay period of a queue's policy in milliseconds.
func (m *model) decay(queue string) int64 {
	seconds := int32(0)
	if p := m.policyOf(queue); p != nil && p.share != nil {
		seconds = aws.ToInt32(p.share.ShareDecaySeconds)
	}
	if seconds == 0 {
		seconds = leastDecay
	}
	return int64(seconds) * 1000
}

// policyOf is the policy of a queue; nil: first in, first out.
func (m *model) policyOf(name string) *policy {
	q, ok := m.queue(name)
	if !ok || q.policy == "" {
		return nil
	}
	return m.policies[q.policy]
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

// weight is the weight factor of a share identifier, 1 where none is given.
func (p *policy) weight(id string) float64 {
	if p.share == nil {
		return 1
	}
	for _, s := range p.share.ShareDistribution {
		if glob(s.ShareIdentifier, id) && s.WeightFactor != nil {
			return float64(*s.WeightFactor)
		}
	}
	return 1
}

// usable is the part of capacity, in thousandths of a vCPU, that active shares may
// use together: computeReservation keeps (reservation/100)^active of it free.
func (p *policy) usable(capacity int64, active int) int64 {
	reservation := int32(0)
	if p.share != nil {
		reservation = aws.ToInt32(p.share.ComputeReservation)
	}
	return capacity - int64(float64(capacity)*math.Pow(float64(reservation)/100, float64(active)))
}

package model

// fairness decides between the shares of a queue.
type fairness struct {
	claims []claim // by the number of the share
	budget int64   // thousandths of a vCPU that the shares may still take
	// idle is true if no job of the queue runs.
	idle bool
}

// claim is how much a share has had, and how much its jobs count.
type claim struct{ used, weight float64 }

// newFairness computes the claims of a queue's shares now, and what they may still use together.
// decay is in milliseconds, capacity in thousandths of a vCPU.
func newFairness(l *QueueJobs, p *Policy, now, decay, capacity int64) *fairness {
	f := &fairness{claims: make([]claim, len(l.shares)), idle: l.inUse == 0}
	active := 0
	for id, s := range l.shares {
		if s.isActive(now, decay) {
			active++
		}
		weight := p.weight(id)
		f.claims[s.number] = claim{s.claim(now, decay, weight), weight}
	}
	f.budget = p.usable(capacity, active) - l.inUse
	return f
}

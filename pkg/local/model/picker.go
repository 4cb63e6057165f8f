package model

// picker iterates over the RUNNABLE tasks of one queue in the order in which they may start.
type picker struct {
	priority int32 // of the queue
	lists    []cursor
	at       int // index of the list whose head is next; -1: none
	fair     *fairness
	quota    *quotas // of a queue with quota shares
}

// cursor is the remaining tasks of one class.
type cursor struct {
	class class
	tasks Ordered
}

// fairness decides between the shares of a queue.
type fairness struct {
	claims map[string]float64 // as of now
	weight map[string]float64
	budget int64 // thousandths of a vCPU that the shares may still take
	// idle is true if no job of the queue runs.
	idle bool
}

// picker returns an iterator over the tasks of a queue. Jobs of deleted queues come last.
func (m *Model) picker(name string, now int64, capacity Amount) *picker {
	p := &picker{priority: -1}
	if q, ok := m.Queue(name); ok {
		p.priority = q.Priority
	}
	l := m.Lines[name]
	for c, tasks := range l.waiting {
		p.lists = append(p.lists, cursor{c, tasks})
	}
	if v := m.PolicyOf(name); v != nil && v.Quota != nil {
		p.quota = m.quotas(name)
	} else if v != nil {
		p.fair = m.fairness(l, v, now, m.Decay(name), m.vcpus(name, capacity))
	}
	p.choose()
	return p
}

// vcpus returns the most that a queue may use, in thousandths of a vCPU, or of an instance.
func (m *Model) vcpus(name string, capacity Amount) int64 {
	sum := int64(0)
	if q, ok := m.Queue(name); ok {
		if v := m.ServiceEnvironments[q.Service]; v != nil {
			return v.allInstances()
		}
		for _, name := range q.Environments {
			if v := m.Environments[name]; v != nil {
				sum += min(v.limit(nil), capacity.MilliCPU)
			}
		}
	}
	return min(sum, capacity.MilliCPU)
}

// fairness computes the claims of a queue's shares now, and what they may still use together.
// decay is in milliseconds, capacity in thousandths of a vCPU.
func (m *Model) fairness(l *QueueJobs, p *Policy, now, decay, capacity int64) *fairness {
	f := &fairness{claims: map[string]float64{}, weight: map[string]float64{}, idle: l.inUse == 0}
	active := 0
	for id, s := range l.shares {
		if s.isActive(now, decay) {
			active++
		}
		f.weight[id] = p.weight(id)
		f.claims[id] = s.claim(now, decay, f.weight[id])
	}
	f.budget = p.usable(capacity, active) - l.inUse
	return f
}

// head returns the next task; nil if none is left.
func (p *picker) head() *Task {
	if p.at < 0 {
		return nil
	}
	return p.lists[p.at].tasks[0]
}

// bars returns starts if the shares of the queue let a job start, else which jobs wait and why. A queue
// without running jobs may always start one, whatever its compute reservation.
func (p *picker) bars(j *Job) (v verdict, reason string) {
	switch {
	case p.quota != nil:
		return p.quota.bars(j)
	case p.fair == nil || p.fair.idle || p.fair.budget >= j.load():
		return starts, ""
	}
	return queueWaits, ""
}

// next moves past the head.
func (p *picker) next(v verdict) {
	c := &p.lists[p.at]
	if f := p.fair; v == starts && f != nil {
		milli, id := c.tasks[0].Job.load(), c.class.share
		f.claims[id] += f.weight[id] * float64(milli)
		f.budget -= milli
		f.idle = false
	}
	if v == starts && p.quota != nil {
		p.quota.use(c.tasks[0].Job)
	}
	switch v {
	case classWaits:
		c.tasks = nil
	case queueWaits:
		p.lists = nil
	default:
		c.tasks = c.tasks[1:]
	}
	p.choose()
}

// choose finds the list whose head comes next.
func (p *picker) choose() {
	p.at = -1
	for i := range p.lists {
		if len(p.lists[i].tasks) > 0 && (p.at < 0 || p.before(&p.lists[i], &p.lists[p.at])) {
			p.at = i
		}
	}
}

// before reports whether the head of a comes before that of b: first a job within the quota of its
// share, then the share with the lower claim, then the higher priority, then the order of submission.
func (p *picker) before(a, b *cursor) bool {
	if p.quota != nil {
		if x, y := p.quota.owns(a.tasks[0].Job), p.quota.owns(b.tasks[0].Job); x != y {
			return x
		}
	}
	if p.fair != nil && a.class.share != b.class.share {
		if x, y := p.fair.claims[a.class.share], p.fair.claims[b.class.share]; x != y {
			return x < y
		}
	}
	if a.class.share == b.class.share && a.class.priority != b.class.priority {
		return a.class.priority > b.class.priority
	}
	return a.tasks[0].compare(b.tasks[0]) < 0
}

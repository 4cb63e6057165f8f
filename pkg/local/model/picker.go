package model

// picker iterates over the RUNNABLE tasks of one queue in the order in which they may start.
type picker struct {
	priority int32 // of the queue
	lists    []cursor
	at       int // index of the list whose head is next; -1: none
	// first has for each share the index of its list whose head is next; -1: none.
	first []int
	fair  *fairness
	quota *quotas // of a queue with quota shares
}

// cursor is the remaining tasks of one class.
type cursor struct {
	class class
	tasks Ordered
	// claim is that of the class's share; nil without a fair-share policy.
	claim *claim
	group int // the share's index in picker.first
}

// newPicker returns an iterator over the tasks of a queue. Jobs of deleted queues come last.
func newPicker(r *ControlPlane, name string, l *QueueJobs, now int64, capacity Amount) *picker {
	p := &picker{priority: -1}
	if q, ok := r.Queue(name); ok {
		p.priority = q.Priority
	}
	if v := r.PolicyOf(name); v != nil && v.Quota != nil {
		p.quota = newQuotas(r.SharesOf(name), l)
	} else if v != nil {
		p.fair = newFairness(l, v, now, v.decay(), r.queueLimit(name, capacity))
	}
	p.lists = make([]cursor, 0, len(l.waiting))
	groups, n := make([]int, len(l.shares)+1), 0 // by the number of the share; the last one is for none
	for c, tasks := range l.waiting {
		one, number := cursor{class: c, tasks: *tasks}, len(l.shares)
		if s := l.shares[c.share]; s != nil {
			number = s.number
			if p.fair != nil {
				one.claim = &p.fair.claims[number]
			}
		}
		if groups[number] == 0 {
			n++
			groups[number] = n
		}
		one.group = groups[number] - 1
		p.lists = append(p.lists, one)
	}
	p.first = make([]int, n)
	p.choose()
	return p
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
		milli := c.tasks[0].Job.load()
		if c.claim != nil {
			c.claim.used += c.claim.weight * float64(milli)
		}
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

// choose finds the list whose head comes next: the first of each share, and then the share.
func (p *picker) choose() {
	p.at = -1
	for i := range p.first {
		p.first[i] = -1
	}
	for i := range p.lists {
		if one := &p.lists[i]; len(one.tasks) > 0 {
			if at := p.first[one.group]; at < 0 || p.beforeInShare(one, &p.lists[at]) {
				p.first[one.group] = i
			}
		}
	}
	for _, i := range p.first {
		if i >= 0 && (p.at < 0 || p.beforeInQueue(&p.lists[i], &p.lists[p.at])) {
			p.at = i
		}
	}
}

// beforeInShare reports whether the head of a comes before that of b, which has the same share: first a job within
// the quota of its share, then the higher priority, then the order of submission.
func (p *picker) beforeInShare(a, b *cursor) bool {
	if first, ok := p.ownsOnly(a, b); ok {
		return first
	}
	if a.class.priority != b.class.priority {
		return a.class.priority > b.class.priority
	}
	return a.tasks[0].compare(b.tasks[0]) < 0
}

// beforeInQueue reports whether the head of a comes before that of b, each the first of its share: first a job
// within the quota of its share, then the share with the lower claim, then the order of submission. To compare heads
// that are not the first of their shares has no order: the priority of one share says nothing about another.
func (p *picker) beforeInQueue(a, b *cursor) bool {
	if first, ok := p.ownsOnly(a, b); ok {
		return first
	}
	if a.claim != nil && b.claim != nil && a.claim.used != b.claim.used {
		return a.claim.used < b.claim.used
	}
	return a.tasks[0].compare(b.tasks[0]) < 0
}

// ownsOnly reports whether a's head is within the quota of its share; ok is false if b's is too, or neither.
func (p *picker) ownsOnly(a, b *cursor) (first, ok bool) {
	if p.quota == nil {
		return false, false
	}
	x, y := p.quota.owns(a.tasks[0].Job), p.quota.owns(b.tasks[0].Job)
	return x, x != y
}

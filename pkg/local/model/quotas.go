package model

// quotas are the quota shares of one queue with what they use, as of now in a scheduling pass.
type quotas struct {
	shares map[string]*QuotaShare
	used   map[shareUnit]int64
	// closed are the instance types that an earlier job waits to borrow, so that no later one takes them.
	closed map[string]bool
}

// newQuotas returns quota shares of a queue with what its jobs use.
func newQuotas(shares []*QuotaShare, l *QueueJobs) *quotas {
	q := &quotas{shares: map[string]*QuotaShare{}, used: map[shareUnit]int64{}, closed: map[string]bool{}}
	for _, s := range shares {
		q.shares[s.Name] = s
	}
	for key, n := range l.instances {
		q.used[key] = n
	}
	return q
}

// use adds a job that starts.
func (q *quotas) use(j *Job) { q.used[shareUnit{j.class.share, j.class.unit}] += j.load() }

// owns reports whether a job is within the capacity of its own share.
func (q *quotas) owns(j *Job) bool {
	s := q.shares[j.class.share]
	return s != nil && q.used[shareUnit{s.Name, j.class.unit}]+j.load() <= s.limit(j.class.unit)
}

// idle returns what other shares may borrow of an instance type: what the lenders do not use, less what
// has been borrowed already. s itself is not a lender to itself.
func (q *quotas) idle(s *QuotaShare, unit string) (free int64) {
	for name, other := range q.shares {
		unused := other.limit(unit) - q.used[shareUnit{name, unit}]
		switch {
		case unused < 0:
			free += unused
		case other != s && other.lends():
			free += unused
		}
	}
	return free
}

// tooMuch begins Batch's reason for a job that its quota share can never run (user guide, "Jobs stuck in
// RUNNABLE due to misconfiguration").
const tooMuch = "MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED - "

// never explains why a job exceeds its quota share whatever else runs; "" if it does not.
func (q *quotas) never(j *Job) string {
	s, unit := q.shares[j.class.share], j.class.unit
	if s == nil {
		return tooMuch + "the quota share " + j.class.share + " does not exist"
	}
	over, borrowable := j.load()-s.limit(unit), int64(0)
	for _, other := range q.shares {
		if other != s && other.lends() {
			borrowable += other.limit(unit)
		}
	}
	switch {
	case over <= 0:
		return ""
	case s.borrows(unit) == 0:
		return tooMuch + "Job requirements exceed quota share capacity limits."
	case over > s.borrows(unit):
		return tooMuch + "Job requirements exceed quota share capacity limits and borrow limits."
	case over > borrowable:
		return tooMuch + "Job requires borrowing that exceeds all configured borrowable capacity."
	}
	return ""
}

// bars returns starts if the shares let a job start, else which jobs wait and why. A job that waits for
// its share keeps the rest of the share free of later jobs.
func (q *quotas) bars(j *Job) (v verdict, reason string) {
	if why := q.never(j); why != "" {
		return waits, why
	}
	s, key := q.shares[j.class.share], shareUnit{j.class.share, j.class.unit}
	if q.owns(j) {
		return starts, ""
	}
	used := q.used[key]
	over := used + j.load() - s.limit(key.unit)
	if over <= s.borrows(key.unit) && !q.closed[key.unit] {
		if borrowing := over - max(used-s.limit(key.unit), 0); borrowing <= q.idle(s, key.unit) {
			return starts, ""
		}
		q.closed[key.unit] = true // idle capacity goes to shares in the order of their jobs: FIFO
	}
	q.used[key] = max(used, s.limit(key.unit))
	return classWaits, "the job waits for capacity of the quota share " + s.Name
}

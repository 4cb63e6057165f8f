package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/stable"
)

// QuotaShare is a part of the capacity of a queue for service jobs.
type QuotaShare struct {
	Name, Queue string
	// Request is CreateQuotaShare with the updates since then.
	Request *awsbatch.CreateQuotaShareInput
}

// Resource returns the resource of a quota share.
func (s *QuotaShare) Resource() Resource { return QuotaShareOf(s.Queue, s.Name) }

// createQuotaShare adds a quota share.
func (m *Model) createQuotaShare(in *awsbatch.CreateQuotaShareInput) error {
	s := &QuotaShare{Name: aws.ToString(in.QuotaShareName), Queue: aws.ToString(in.JobQueue), Request: in}
	if _, ok := m.Queue(s.Queue); !ok || s.Name == "" || m.QuotaShares[s.Resource()] != nil {
		return fmt.Errorf("create quota share %q: it exists, has no name, or no queue", s.Name)
	}
	m.QuotaShares[s.Resource()] = s
	m.tag(s.Resource(), in.Tags)
	m.reconsider(func(q *Queue) bool { return q.Name == s.Queue })
	return nil
}

// updateQuotaShare applies the members of an update. Jobs that wait are examined again.
func (m *Model) updateQuotaShare(in *awsbatch.UpdateQuotaShareInput) error {
	r, err := ParseARN(aws.ToString(in.QuotaShareArn))
	s := m.QuotaShares[r]
	if err != nil || s == nil {
		return fmt.Errorf("update quota share %q: no such quota share", aws.ToString(in.QuotaShareArn))
	}
	now := *s.Request
	now.State = cmp.Or(in.State, now.State)
	now.PreemptionConfiguration = cmp.Or(in.PreemptionConfiguration, now.PreemptionConfiguration)
	now.ResourceSharingConfiguration = cmp.Or(in.ResourceSharingConfiguration, now.ResourceSharingConfiguration)
	if in.CapacityLimits != nil {
		now.CapacityLimits = in.CapacityLimits
	}
	s.Request = &now
	m.reconsider(func(q *Queue) bool { return q.Name == s.Queue })
	return nil
}

// SharesOf returns the quota shares of a queue, by name.
func (m *Model) SharesOf(queue string) []*QuotaShare {
	var all []*QuotaShare
	for _, s := range m.QuotaShares {
		if s.Queue == queue {
			all = append(all, s)
		}
	}
	stable.Sort(all, func(a, b *QuotaShare) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// limit returns the capacity of a share for an instance type, in thousandths.
func (s *QuotaShare) limit(unit string) int64 {
	for _, l := range s.Request.CapacityLimits {
		if aws.ToString(l.CapacityUnit) == unit {
			return int64(aws.ToInt32(l.MaxCapacity)) * 1000
		}
	}
	return 0
}

// lends reports whether other shares may borrow its idle capacity.
func (s *QuotaShare) lends() bool {
	return s.Request.ResourceSharingConfiguration.Strategy != types.QuotaShareResourceSharingStrategyReserve
}

// unlimited is the default of borrowLimit (API reference of QuotaShareResourceSharingConfiguration).
const unlimited = -1

// borrows returns how much the share may borrow of an instance type: borrowLimit is a percentage of its
// own limit.
func (s *QuotaShare) borrows(unit string) int64 {
	c := s.Request.ResourceSharingConfiguration
	switch {
	case c.Strategy != types.QuotaShareResourceSharingStrategyLendAndBorrow:
		return 0
	case c.BorrowLimit == nil || *c.BorrowLimit == unlimited:
		return Never
	}
	return s.limit(unit) * int64(*c.BorrowLimit) / 100
}

// quotas are the quota shares of one queue with what they use, as of now in a scheduling pass.
type quotas struct {
	shares map[string]*QuotaShare
	used   map[shareUnit]int64
	// closed are the instance types that an earlier job waits to borrow, so that no later one takes them.
	closed map[string]bool
}

// quotas returns the shares of a queue.
func (m *Model) quotas(queue string) *quotas {
	q := &quotas{shares: map[string]*QuotaShare{}, used: map[shareUnit]int64{}, closed: map[string]bool{}}
	for _, s := range m.SharesOf(queue) {
		q.shares[s.Name] = s
	}
	for key, n := range m.QueueJobs(queue).instances {
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

// Preemptions returns the events of attempts that must end so that other service jobs can start. A job
// within the capacity of its share takes back what others borrowed. With inSharePreemption a job also
// takes the place of jobs with a lower priority in its share (user guide, "Quota shares"). Which job
// ends first is Batch's own heuristic; here it is the one with the lowest priority, then the newest.
func (m *Model) Preemptions() (events []Event) {
	for _, queue := range m.Queues {
		if p := m.PolicyOf(queue.Name); p == nil || p.Quota == nil || queue.Service == "" {
			continue
		}
		events = append(events, m.preemptionsOf(queue)...)
	}
	return events
}

// preemptionsOf returns the preemptions in a queue. Each event assumes those before it.
func (m *Model) preemptionsOf(queue *Queue) (events []Event) {
	l, v := m.Lines[queue.Name], m.ServiceEnvironments[queue.Service]
	if l == nil || v == nil || v.Disabled() || len(l.waiting) == 0 {
		return nil
	}
	r := &reclaim{quotas: m.quotas(queue.Name), free: map[string]int64{}, environment: v}
	for _, state := range []State{Scheduled, Starting, Running} {
		for _, t := range l.Jobs[state] {
			switch s := t.Job.Service; {
			case s == nil: // of a deleted queue of this name
			case s.Preempting == "" && t.stopReason == "":
				r.running = append(r.running, t)
			default: // it is about to free its instances
				r.release(t.Job)
			}
		}
	}
	stable.Sort(r.running, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(a.Job.class.priority, b.Job.class.priority), -a.compare(b))
	})
	for p := m.picker(queue.Name, 0, Amount{}); p.head() != nil; {
		j := p.head().Job
		if r.never(j) != "" || len(m.fitting(j)) == 0 {
			p.next(waits)
			continue
		}
		events = append(events, r.reclaimFor(j)...)
		p.next(classWaits)
	}
	return events
}

// reclaim is the state of a queue while its preemptions are decided.
type reclaim struct {
	*quotas
	environment *Environment
	running     []*Task          // attempts that may be preempted, in that order
	free        map[string]int64 // what preempted attempts free, by instance type
}

// release counts the instances of a job as free.
func (r *reclaim) release(j *Job) {
	r.used[shareUnit{j.class.share, j.class.unit}] -= j.load()
	r.free[j.class.unit] += j.load()
}

// reclaimFor returns the preemptions for a job that waits; none if they would not suffice.
func (r *reclaim) reclaimFor(j *Job) (events []Event) {
	unit, s := j.class.unit, r.shares[j.class.share]
	reason, lacking, eligible := ReasonCrossShare, j.load()-(r.environment.limit(j)-r.environment.inUse(unit)+r.free[unit]), r.borrowers(unit)
	if !r.owns(j) {
		if s.Request.PreemptionConfiguration.InSharePreemption != types.QuotaShareInSharePreemptionStateEnabled {
			return nil
		}
		reason, lacking = reasonInShare, r.used[shareUnit{s.Name, unit}]+j.load()-s.limit(unit)
		eligible = func(other *Job) bool { return other.class.share == s.Name && other.class.priority < j.class.priority }
	}
	var chosen []*Task
	for _, t := range r.running {
		if lacking > 0 && t.Job.class.unit == unit && eligible(t.Job) {
			chosen, lacking = append(chosen, t), lacking-t.Job.load()
		}
	}
	if lacking > 0 {
		return nil
	}
	for _, t := range chosen {
		events = append(events, Event{Preempted: &Preemption{Job: t.ID(), Reason: reason}})
		r.release(t.Job)
		r.running = slices.DeleteFunc(r.running, func(other *Task) bool { return other == t })
	}
	r.use(j)
	r.free[unit] -= j.load()
	return events
}

// borrowers returns whether a job belongs to a share that uses more than its limit of an instance type.
// It counts each job for which it returns true as ended.
func (r *reclaim) borrowers(unit string) func(*Job) bool {
	ended := map[string]int64{}
	return func(j *Job) bool {
		s := r.shares[j.class.share]
		if s != nil && r.used[shareUnit{s.Name, unit}]-ended[s.Name] <= s.limit(unit) {
			return false
		}
		ended[j.class.share] += j.load()
		return true
	}
}

// preempt marks an attempt that is asked to end for another job.
func (m *Model) preempt(at int64, t *Task, p *Preemption) error {
	if t.Job.Service == nil || t.Active() == nil {
		return fmt.Errorf("job %s has no attempt of a service job that could be preempted", t.ID())
	}
	t.Job.Service.Preempting = p.Reason
	t.Reason, t.reasonAt = preempting+p.Reason, at
	return nil
}

// Preempted returns the event for the end of an attempt that was preempted. The job waits again, until
// the retries of its preemptionConfiguration are used up.
func Preempted(t *Task, o Outcome) Event {
	n, limit := 1, t.Job.Service.Request.PreemptionConfiguration
	for i := range t.Attempts {
		if t.Attempts[i].Preempted {
			n++
		}
	}
	to := Runnable
	if limit != nil && limit.PreemptionRetriesBeforeTermination != nil && n > int(*limit.PreemptionRetriesBeforeTermination) {
		to = Failed
	}
	o.StatusReason = t.Job.Service.Preempting
	e := ended(t, o, to)
	e.Ended.Preempted = true
	return e
}

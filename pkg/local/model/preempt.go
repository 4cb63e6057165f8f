package model

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// preemptions returns the events of attempts that must end so that other service jobs can start. A job
// within the capacity of its share takes back what others borrowed. With inSharePreemption a job also
// takes the place of jobs with a lower priority in its share (user guide, "Quota shares"). Which job
// ends first is Batch's own heuristic; here it is the one with the lowest priority, then the newest.
func (s scheduler) preemptions() (events []Event) {
	for _, queue := range s.resources.Queues {
		if p := s.resources.PolicyOf(queue.Name); p == nil || p.Quota == nil || queue.Service == "" {
			continue
		}
		events = append(events, s.preemptionsOf(queue)...)
	}
	return events
}

// preemptionsOf returns the preemptions in a queue. Each event assumes those before it.
func (s scheduler) preemptionsOf(queue *Queue) (events []Event) {
	l, v := s.lines[queue.Name], s.resources.ServiceEnvironments[queue.Service]
	if l == nil || v == nil || v.Disabled() || len(l.waiting) == 0 {
		return nil
	}
	r := &reclaim{quotas: newQuotas(s.resources.SharesOf(queue.Name), l), free: map[string]int64{}, environment: v}
	for _, state := range []State{Scheduled, Starting, Running} {
		for _, t := range l.Jobs[state] {
			switch v := t.Job.Service; {
			case v == nil: // of a deleted queue of this name
			case v.Preempting == "" && t.stopReason == "":
				r.running = append(r.running, t)
			default: // it is about to free its instances
				r.release(t.Job)
			}
		}
	}
	slices.SortStableFunc(r.running, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(a.Job.class.priority, b.Job.class.priority), -a.compare(b))
	})
	for p := s.picker(queue.Name, 0, Amount{}); p.head() != nil; {
		j := p.head().Job
		if r.never(j) != "" || len(s.resources.fitting(j)) == 0 {
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
	reason, lacking, eligible := ReasonCrossShare, j.load()-(r.environment.limit(unit)-r.environment.inUse(unit)+
		r.free[unit]), r.borrowers(unit)
	if !r.owns(j) {
		if s.Request.PreemptionConfiguration.InSharePreemption != types.QuotaShareInSharePreemptionStateEnabled {
			return nil
		}
		reason, lacking = reasonInShare, r.used[shareUnit{s.Name, unit}]+j.load()-s.limit(unit)
		eligible = func(other *Job) bool {
			return other.class.share == s.Name &&
				other.class.priority < j.class.priority
		}
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

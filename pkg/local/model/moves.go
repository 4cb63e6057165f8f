package model

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// addJob adds a new job as SUBMITTED.
func (s *JobTable) addJob(at int64, j *Job) {
	j.Seq, j.CreatedAt, j.TallyAt = int64(len(s.BySubmission)), at, at
	s.Jobs[j.ID] = j
	s.BySubmission = append(s.BySubmission, j)
	s.Active++
	s.QueueJobs(*j.Request.JobQueue).index(j)
	for _, dep := range j.Request.DependsOn {
		if on := s.Task(aws.ToString(dep.JobId)); on != nil && !slices.Contains(on.Job.dependents, j) {
			on.Job.dependents = append(on.Job.dependents, j)
		}
	}
	s.set(at, &j.Task, Submitted, "")
	for i := range j.Children {
		s.set(at, &j.Children[i], Submitted, "")
	}
	s.addDue(&j.Task)
}

// moveAll moves a task, or all children of an array if the event is for all.
func (s *JobTable) moveAll(at int64, t *Task, v *move) error {
	if !v.All {
		return s.moveOne(at, t, v.To, v.Reason)
	}
	for i := range t.Job.Children {
		if err := s.moveOne(at, &t.Job.Children[i], v.To, v.Reason); err != nil {
			return err
		}
	}
	return nil
}

// moveOne moves one task. A move that the states do not allow is an error.
func (s *JobTable) moveOne(at int64, t *Task, to State, reason string) error {
	if !t.State.mayBecome(to) {
		return fmt.Errorf("job %s may not go from %s to %s", t.ID(), t.State, to)
	}
	s.set(at, t, to, reason)
	return nil
}

// set changes the state of t and updates the lists.
func (s *JobTable) set(at int64, t *Task, to State, reason string) {
	j, l, waited := t.Job, s.QueueJobs(*t.Job.Request.JobQueue), t.State.Waits()
	if t.State == Runnable {
		l.leave(t)
		l.leftAt = at
	}
	if t.IsChild() {
		if t.State != NoState {
			j.Tally[t.State]--
		}
		j.Tally[to]++
		j.TallyAt = at
	} else {
		l.Jobs[t.State].remove(t)
		l.Jobs[to].insert(t)
	}
	t.State, t.Reason, t.since, t.reasonAt, t.parked = to, reason, at, at, false
	switch {
	case to == Runnable:
		l.enter(t)
		s.addDue(t)
		if t.IsChild() && j.Tally[Runnable] == 1 {
			s.addDue(&j.Task) // it shows why its children wait
		}
	case to.Ended():
		t.StoppedAt = at
		if t.IsChild() { // its array may be stopped later
			t.Cancelled = t.Cancelled || j.Cancelled && waited
			t.Terminated = t.Terminated || j.Terminated
		}
		if !t.IsChild() {
			s.Active--
			if v := l.shares[j.class.share]; v != nil {
				v.open--
			}
		}
		s.addAfterEnd(t)
	}
}

// stop records the request to end a task. Tasks of an array read it from their parent. The moves
// that follow are other events.
func (s *JobTable) stop(t *Task, x *Stop) {
	if x.Terminate {
		t.Terminated = true
	} else {
		t.Cancelled = true
	}
	t.stopReason = x.Reason
	s.addDue(t)
}

// explain records why a RUNNABLE task waits, and takes it out of its queue's order if it can
// never start.
func (s *JobTable) explain(at int64, t *Task, x *Explanation) {
	l := s.QueueJobs(*t.Job.Request.JobQueue)
	listed := t.State == Runnable && !t.IsParent()
	if listed {
		l.leave(t)
	}
	t.Reason, t.reasonAt, t.parked = x.Reason, at, x.Reason != "" && !x.Waits
	if listed {
		l.enter(t)
	}
}

// begin adds an attempt, which has reserved what it requests.
func (s *JobTable) begin(at int64, t *Task, to State, a Attempt) error {
	if err := s.moveOne(at, t, to, ""); err != nil {
		return err
	}
	t.Attempts = append(t.Attempts, a)
	s.active[t] = true
	return nil
}

// launch records that the command of the task's attempt runs.
func (s *JobTable) launch(at int64, t *Task, l *Launch) error {
	if err := s.moveOne(at, t, Running, ""); err != nil {
		return err
	}
	a := t.Last()
	a.Handle, a.StartedAt, t.StartedAt = l.Handle, at, at
	if l.ImageDigest != "" {
		a.ImageDigest = s.oneCopy(l.ImageDigest)
	}
	return nil
}

// oneCopy returns a digest that an earlier attempt has, or the given one: many attempts have the same.
func (s *JobTable) oneCopy(digest string) string {
	if _, ok := s.digests[digest]; !ok {
		s.digests[digest] = digest
	}
	return s.digests[digest]
}

// finish records how the attempt ended.
func (s *JobTable) finish(at int64, t *Task, e *end) error {
	a := t.Active()
	if a == nil || !t.State.mayBecome(e.To) {
		return fmt.Errorf("attempt of job %s ended, but the job is %s", t.ID(), t.State)
	}
	a.StoppedAt, a.Exit, a.Reason, a.StatusReason, a.Containers = at, e.Exit, e.Reason, e.StatusReason, e.Containers
	delete(s.active, t)
	if v := t.Job.Service; v != nil {
		a.Preempted, v.Preempting = e.Preempted, ""
	}
	reason := e.StatusReason
	if e.To == Runnable {
		reason = ""
	}
	s.set(at, t, e.To, reason)
	return nil
}

// prioritize changes the scheduling priority of a service job and its position in the queue.
func (s *JobTable) prioritize(t *Task, p *Prioritization) error {
	j := t.Job
	if j.Service == nil {
		return fmt.Errorf("job %s is not a service job and keeps its priority", j.ID)
	}
	l := s.QueueJobs(*j.Request.JobQueue)
	if t.State == Runnable {
		l.leave(t)
	}
	j.Request.SchedulingPriorityOverride = &p.Priority
	j.class = classOf(j)
	if t.State == Runnable {
		l.enter(t)
	}
	return nil
}

// preempt marks an attempt that is asked to end for another job.
func (s *JobTable) preempt(at int64, t *Task, p *Preemption) error {
	if t.Job.Service == nil || t.Active() == nil {
		return fmt.Errorf("job %s has no attempt of a service job that could be preempted", t.ID())
	}
	t.Job.Service.Preempting = p.Reason
	t.Reason, t.reasonAt = preempting+p.Reason, at
	return nil
}

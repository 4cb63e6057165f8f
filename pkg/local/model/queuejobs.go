package model

import (
	"iter"
	"strings"
)

// QueueJobs contains the jobs of one queue.
type QueueJobs struct {
	Jobs    [Failed + 1]Ordered // jobs and parents, by state
	waiting map[class]*Ordered  // RUNNABLE tasks that may start
	parked  Ordered             // RUNNABLE tasks that currently fit no environment
	shares  map[string]*share   // of a fair-share queue
	inUse   int64               // thousandths of a vCPU, or of an instance, of the started jobs
	// instances are the instances in use of the started service jobs, in thousandths.
	instances map[shareUnit]int64
	leftAt    int64 // when a RUNNABLE task last left
	limits    deadlines
	serves    bool // its newest job is a service job: a queue of a name is for one kind of job at a time

	// All has the jobs in the order of submission, and so of their creation times; the others are
	// indexes in the same order.
	All          []*Job
	ByName       map[string][]*Job // in lower case
	ByDefinition map[string][]*Job // without the revision
}

// deadlines remembers when the first action on a job of a queue is due.
type deadlines struct {
	first int64 // epoch milliseconds
	stale bool  // a list of the queue has changed since
}

// Lines are the jobs of each queue, by its name.
type Lines map[string]*QueueJobs

// of returns the jobs of a queue, and adds an empty list if there is none.
func (s Lines) of(queue string) *QueueJobs {
	l := s[queue]
	if l == nil {
		l = NewLine()
		s[queue] = l
	}
	return l
}

// NewLine returns the list of a queue without jobs.
func NewLine() *QueueJobs {
	return &QueueJobs{waiting: map[class]*Ordered{}, shares: map[string]*share{}, ByName: map[string][]*Job{},
		ByDefinition: map[string][]*Job{}}
}

// index adds a new job to the indexes.
func (l *QueueJobs) index(j *Job) {
	if n := len(l.All); n > 0 {
		j.CreatedAt = max(j.CreatedAt, l.All[n-1].CreatedAt) // the clock may have been set back
	}
	l.All = append(l.All, j)
	l.serves = j.Service != nil
	name, definition := strings.ToLower(*j.Request.JobName), j.Definition.Name()
	l.ByName[name] = append(l.ByName[name], j)
	l.ByDefinition[definition] = append(l.ByDefinition[definition], j)
	if id := j.class.share; id != "" {
		l.share(id).open++
	}
}

// share returns the share with an identifier, and adds it if it is new.
func (l *QueueJobs) share(id string) *share {
	s := l.shares[id]
	if s == nil {
		s = &share{number: len(l.shares)}
		l.shares[id] = s
	}
	return s
}

// enter adds a RUNNABLE task to its list.
func (l *QueueJobs) enter(t *Task) {
	l.limits.stale = true
	if t.parked {
		l.parked.insert(t)
		return
	}
	list := l.waiting[t.Job.class]
	if list == nil {
		list = &Ordered{}
		l.waiting[t.Job.class] = list
	}
	list.insert(t)
}

// leave removes a RUNNABLE task from its list.
func (l *QueueJobs) leave(t *Task) {
	l.limits.stale = true
	if t.parked {
		l.parked.remove(t)
		return
	}
	list := l.waiting[t.Job.class]
	if list == nil {
		return
	}
	if list.remove(t); len(*list) == 0 {
		delete(l.waiting, t.Job.class)
	}
}

// runnable yields the RUNNABLE tasks of the queue.
func (l *QueueJobs) runnable() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for _, list := range l.waiting {
			for _, t := range *list {
				if !yield(t) {
					return
				}
			}
		}
		for _, t := range l.parked {
			if !yield(t) {
				return
			}
		}
	}
}

// openShares returns the number of shares that have unfinished jobs.
func (l *QueueJobs) openShares() int {
	n := 0
	for _, s := range l.shares {
		if s.open > 0 {
			n++
		}
	}
	return n
}

// TakesShare reports whether a job with this share is accepted if at most most shares may have unfinished jobs.
func (l *QueueJobs) TakesShare(id string, most int) bool {
	s := l.shares[id]
	return s != nil && s.open > 0 || l.openShares() < most
}

// shareUnit is an instance type with the share that uses it.
type shareUnit struct{ share, unit string }

// occupy reserves (sign 1) or releases (sign -1) what an attempt uses of its environment, and counts it for the
// queue and the share. decay is the decay period of the queue's policy in milliseconds.
func (l *QueueJobs) occupy(at, decay int64, t *Task, environment *Environment, sign int64) {
	j, milli := t.Job, sign*t.Job.load()
	l.inUse += milli
	switch {
	case j.Service != nil:
		l.occupyInstances(j, environment, sign)
	case environment != nil:
		environment.used += milli
	}
	if s := l.shares[j.class.share]; s != nil {
		s.use(at, milli, decay)
	}
}

// occupyInstances reserves (sign 1) or releases (sign -1) the instances of a service job.
func (l *QueueJobs) occupyInstances(j *Job, environment *Environment, sign int64) {
	if l.instances == nil {
		l.instances = map[shareUnit]int64{}
	}
	for _, g := range j.Service.Training.Instances() {
		n := sign * g.InstanceCount * 1000
		key := shareUnit{j.class.share, g.InstanceType}
		if l.instances[key] += n; l.instances[key] == 0 {
			delete(l.instances, key)
		}
		if environment != nil {
			environment.instances[g.InstanceType] += n
		}
	}
}

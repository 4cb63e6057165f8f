package model

import (
	"strings"
)

// Line is what is known about the jobs of one queue.
type Line struct {
	Jobs    [Failed + 1]Ordered // jobs and parents, by state
	waiting map[class]Ordered   // RUNNABLE tasks that may start
	parked  Ordered             // RUNNABLE tasks that no environment can hold as things are
	shares  map[string]*share   // of a fair-share queue
	inUse   int64               // thousandths of a vCPU of what has started
	leftAt  int64               // when a RUNNABLE task went away last
	limits  deadlines

	// All is the jobs by submission, and so by their time of creation; the others
	// find some of them, in the same order.
	All          []*Job
	ByName       map[string][]*Job // in lower case
	ByDefinition map[string][]*Job // without the revision
}

// NewLine returns the line of a queue without jobs.
func NewLine() *Line {
	return &Line{waiting: map[class]Ordered{}, shares: map[string]*share{}, ByName: map[string][]*Job{}, ByDefinition: map[string][]*Job{}}
}

// index puts a new job where lookups find it.
func (l *Line) index(j *Job) {
	if n := len(l.All); n > 0 {
		j.CreatedAt = max(j.CreatedAt, l.All[n-1].CreatedAt) // the clock may have been set back
	}
	l.All = append(l.All, j)
	name, definition := strings.ToLower(*j.Request.JobName), j.Definition.Name()
	l.ByName[name] = append(l.ByName[name], j)
	l.ByDefinition[definition] = append(l.ByDefinition[definition], j)
	if id := j.class.share; id != "" {
		if l.shares[id] == nil {
			l.shares[id] = &share{}
		}
		l.shares[id].open++
	}
}

// class is what tasks have in common that stand in one line and are looked at in
// order: when one of them has to wait for a consumable resource, all have to.
type class struct {
	share    string
	priority int32 // in the share, higher first
	fargate  bool
	consumes string
}

// enter puts a RUNNABLE task into the list where it belongs.
func (l *Line) enter(t *Task) {
	l.limits.stale = true
	if t.parked {
		l.parked.insert(t)
		return
	}
	list := l.waiting[t.Job.class]
	list.insert(t)
	l.waiting[t.Job.class] = list
}

// leave takes a RUNNABLE task out of its list.
func (l *Line) leave(t *Task) {
	l.limits.stale = true
	if t.parked {
		l.parked.remove(t)
		return
	}
	list := l.waiting[t.Job.class]
	if list.remove(t); len(list) == 0 {
		delete(l.waiting, t.Job.class)
		return
	}
	l.waiting[t.Job.class] = list
}

// openShares is the number of shares that have jobs.
func (l *Line) openShares() int {
	n := 0
	for _, s := range l.shares {
		if s.open > 0 {
			n++
		}
	}
	return n
}

// TakesShare reports whether a job of a share may come where at most so many shares may have jobs.
func (l *Line) TakesShare(id string, most int) bool {
	return l.shares[id] != nil || l.openShares() < most
}

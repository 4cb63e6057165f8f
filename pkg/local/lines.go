package local

import (
	"strings"
)

// line is what is known about the jobs of one queue.
type line struct {
	jobs    [failed + 1]ordered // jobs and parents, by state
	waiting map[class]ordered   // RUNNABLE tasks that may start
	parked  ordered             // RUNNABLE tasks that no environment can hold as things are
	shares  map[string]*share   // of a fair-share queue
	inUse   int64               // thousandths of a vCPU of what has started
	leftAt  int64               // when a RUNNABLE task went away last
	limits  deadlines

	// all is the jobs by submission, and so by their time of creation; the others
	// find some of them, in the same order.
	all          []*job
	byName       map[string][]*job // in lower case
	byDefinition map[string][]*job // without the revision
}

func newLine() *line {
	return &line{waiting: map[class]ordered{}, shares: map[string]*share{}, byName: map[string][]*job{}, byDefinition: map[string][]*job{}}
}

// index puts a new job where lookups find it.
func (l *line) index(j *job) {
	if n := len(l.all); n > 0 {
		j.createdAt = max(j.createdAt, l.all[n-1].createdAt) // the clock may have been set back
	}
	l.all = append(l.all, j)
	name, definition := strings.ToLower(*j.request.JobName), j.definition.name()
	l.byName[name] = append(l.byName[name], j)
	l.byDefinition[definition] = append(l.byDefinition[definition], j)
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
func (l *line) enter(t *task) {
	l.limits.stale = true
	if t.parked {
		l.parked.insert(t)
		return
	}
	list := l.waiting[t.job.class]
	list.insert(t)
	l.waiting[t.job.class] = list
}

// leave takes a RUNNABLE task out of its list.
func (l *line) leave(t *task) {
	l.limits.stale = true
	if t.parked {
		l.parked.remove(t)
		return
	}
	list := l.waiting[t.job.class]
	if list.remove(t); len(list) == 0 {
		delete(l.waiting, t.job.class)
		return
	}
	l.waiting[t.job.class] = list
}

// openShares is the number of shares that have jobs.
func (l *line) openShares() int {
	n := 0
	for _, s := range l.shares {
		if s.open > 0 {
			n++
		}
	}
	return n
}

// TakesShare reports whether a job of a share may come where at most so many shares may have jobs.
func (l *line) TakesShare(id string, most int) bool {
	return l.shares[id] != nil || l.openShares() < most
}

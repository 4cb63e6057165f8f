// Package joblist keeps the jobs that a page lists, and answers which rows a window shows: filtered,
// searched, sorted and grouped. It is made for 100,000 jobs and more. It has no I/O and no clock.
package joblist

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Job is a job as the list shows it. Times are in milliseconds since 1970; 0 means "not yet".
type Job struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	Queue      string `json:"queue,omitempty"`
	Definition string `json:"definition,omitempty"`
	// Reason is the status reason.
	Reason string `json:"reason,omitempty"`
	// Run is the id of the submission that the job belongs to, and Workflow is the name of its
	// workflow. Both are empty for a single job and while they are unknown.
	Run      string `json:"run,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	// Tags is nil until the job's tags have been read.
	Tags    map[string]string `json:"tags,omitempty"`
	Created int64             `json:"created,omitempty"`
	Started int64             `json:"started,omitempty"`
	Stopped int64             `json:"stopped,omitempty"`
	// Size is the number of children of an array job, 0 for other jobs. Counts is the number of
	// children by status.
	Size   int            `json:"size,omitempty"`
	Counts map[string]int `json:"counts,omitempty"`
}

// lifeOrder are the statuses in the order of a job's life.
var lifeOrder = []string{"SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING", "SUCCEEDED", "FAILED"}

// ended reports whether a job with this status has ended. It will not change again.
func ended(status string) bool { return status == "SUCCEEDED" || status == "FAILED" }

// record is a stored job. A map per job would need most of the memory of the list.
type record struct {
	id                                                     string
	created, started, stopped                              int64
	tags                                                   []tag // by symbol of the name; nil until they have been read
	counts                                                 []count
	size                                                   int
	name, status, queue, definition, reason, run, workflow symbol
}

type tag struct{ name, value symbol }

type count struct {
	status symbol
	jobs   int
}

// same reports whether two records of one job have the same content.
func (r *record) same(o *record) bool {
	return r.created == o.created && r.started == o.started && r.stopped == o.stopped && r.size == o.size &&
		r.name == o.name && r.status == o.status && r.queue == o.queue && r.definition == o.definition &&
		r.reason == o.reason && r.run == o.run && r.workflow == o.workflow &&
		(r.tags == nil) == (o.tags == nil) && slices.Equal(r.tags, o.tags) && slices.Equal(r.counts, o.counts)
}

// newestFirst orders records by time of creation. Those without one are last, and the id decides
// between equal times.
func newestFirst(a, b *record) int {
	if a.created != b.created {
		return cmp.Compare(largestFirst(a.created), largestFirst(b.created))
	}
	return strings.Compare(a.id, b.id)
}

// List is a list of jobs, each with its own ID. It is safe for concurrent use. The zero value is an
// empty list.
type List struct {
	mu      sync.RWMutex
	version uint64
	// records is in the order of newestFirst.
	records []*record
	byID    map[string]*record
	symbols *symbolTable
	// spacious is the size of the table of symbols at which unused ones are removed.
	spacious int
	cache    cache
}

// leastSpacious is spacious for an empty list.
const leastSpacious = 1000

// Replace stores a complete new listing: other jobs are removed. As with Update, tags, Run and
// Workflow that are known are kept if the new entry has none, and no job leaves an ended status.
func (l *List) Replace(jobs []Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.byID
	l.byID = make(map[string]*record, len(jobs))
	c := l.store(jobs, old)
	if kept := len(l.byID) - len(c.added); kept < len(old) {
		c.content, l.cache.ids = true, nil
		l.records = slices.DeleteFunc(l.records, func(r *record) bool { return l.byID[r.id] == nil })
	}
	l.finish(c)
}

// Update adds or changes some jobs. Tags, Run and Workflow that are known are kept if the new entry
// has none. A job does not return from an ended status (SUCCEEDED or FAILED) to an earlier one: such
// an entry is outdated, and only its tags, Run and Workflow are stored.
func (l *List) Update(jobs []Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish(l.store(jobs, l.byID))
}

// change is what a call of store changed.
type change struct {
	added []*record
	// content is true if anything changed, and order if a stored job has a new time of creation.
	content, order bool
}

// store puts jobs into byID, on top of their records in old.
func (l *List) store(jobs []Job, old map[string]*record) change {
	if l.symbols == nil {
		l.symbols, l.spacious = newSymbolTable(), leastSpacious
	}
	if l.byID == nil {
		l.byID = map[string]*record{}
	}
	var c change
	for i := range jobs {
		next := l.encode(&jobs[i])
		r := l.byID[jobs[i].ID]
		if r == nil {
			if r = old[jobs[i].ID]; r != nil {
				l.byID[r.id] = r
			}
		}
		if r == nil {
			next.id = strings.Clone(jobs[i].ID)
			r = new(next)
			l.byID[r.id] = r
			c.added, c.content = append(c.added, r), true
			continue
		}
		next = l.merge(*r, next)
		if !r.same(&next) {
			c.content = true
			c.order = c.order || r.created != next.created
			*r = next
		}
	}
	return c
}

// merge returns the record of a job after next arrived.
func (l *List) merge(old, next record) record {
	next.id = old.id
	if next.tags == nil {
		next.tags = old.tags
	}
	next.run, next.workflow = cmp.Or(next.run, old.run), cmp.Or(next.workflow, old.workflow)
	if ended(l.symbols.texts[old.status]) && !ended(l.symbols.texts[next.status]) {
		old.tags, old.run, old.workflow = next.tags, next.run, next.workflow
		return old
	}
	return next
}

// encode returns the record of a job, without its id.
func (l *List) encode(j *Job) record {
	t := l.symbols
	r := record{created: j.Created, started: j.Started, stopped: j.Stopped, size: j.Size,
		name: t.intern(j.Name), status: t.intern(j.Status), queue: t.intern(j.Queue),
		definition: t.intern(j.Definition),
		reason:     t.intern(j.Reason), run: t.intern(j.Run), workflow: t.intern(j.Workflow)}
	if j.Tags != nil {
		r.tags = make([]tag, 0, len(j.Tags))
		for name, value := range j.Tags {
			r.tags = append(r.tags, tag{t.intern(name), t.intern(value)})
		}
		slices.SortFunc(r.tags, func(a, b tag) int { return cmp.Compare(a.name, b.name) })
	}
	for status, n := range j.Counts {
		r.counts = append(r.counts, count{t.intern(status), n})
	}
	slices.SortFunc(r.counts, func(a, b count) int { return cmp.Compare(a.status, b.status) })
	return r
}

// decode returns the job of a record. The caller owns its maps.
func (l *List) decode(r *record) Job {
	texts := l.symbols.texts
	j := Job{ID: r.id, Name: texts[r.name], Status: texts[r.status], Queue: texts[r.queue],
		Definition: texts[r.definition],
		Reason:     texts[r.reason], Run: texts[r.run], Workflow: texts[r.workflow],
		Created: r.created, Started: r.started, Stopped: r.stopped, Size: r.size}
	if r.tags != nil {
		j.Tags = make(map[string]string, len(r.tags))
		for _, t := range r.tags {
			j.Tags[texts[t.name]] = texts[t.value]
		}
	}
	if r.counts != nil {
		j.Counts = make(map[string]int, len(r.counts))
		for _, c := range r.counts {
			j.Counts[texts[c.status]] = c.jobs
		}
	}
	return j
}

// finish sorts what store added. If the content changed, it also starts a new version.
func (l *List) finish(c change) {
	if len(c.added) > 0 || c.order {
		l.cache.ids = nil
	}
	if len(c.added) > 0 && !c.order {
		slices.SortFunc(c.added, newestFirst)
		l.records = mergeSorted(l.records, c.added, newestFirst)
	} else if c.order {
		l.records = append(l.records, c.added...)
		slices.SortFunc(l.records, newestFirst)
	}
	if len(l.symbols.texts) > l.spacious {
		l.compact()
	}
	l.symbols.arrange()
	if c.content {
		l.version++
		l.cache.results = nil
	}
}

// compact removes the symbols that no job uses if they are most of them. Reasons and tags come and go
// with the jobs.
func (l *List) compact() {
	old := l.symbols
	used, n := make([]bool, len(old.texts)), 0
	l.eachSymbol(func(s *symbol) {
		if !used[*s] {
			used[*s] = true
			n++
		}
	})
	l.spacious = 2*n + leastSpacious
	if n > len(old.texts)/2 {
		return
	}
	old.arrange()
	l.symbols = newSymbolTable()
	moved := make([]symbol, len(old.texts))
	for _, s := range old.order {
		if used[s] {
			moved[s] = l.symbols.intern(old.texts[s])
		}
	}
	l.eachSymbol(func(s *symbol) { *s = moved[*s] })
	for _, r := range l.records { // both are in the order of symbols, which are others now
		slices.SortFunc(r.tags, func(a, b tag) int { return cmp.Compare(a.name, b.name) })
		slices.SortFunc(r.counts, func(a, b count) int { return cmp.Compare(a.status, b.status) })
	}
	l.cache.results = nil
}

// eachSymbol calls do with every symbol of every job.
func (l *List) eachSymbol(do func(*symbol)) {
	for _, r := range l.records {
		for _, s := range []*symbol{&r.name, &r.status, &r.queue, &r.definition, &r.reason, &r.run, &r.workflow} {
			do(s)
		}
		for i := range r.tags {
			do(&r.tags[i].name)
			do(&r.tags[i].value)
		}
		for i := range r.counts {
			do(&r.counts[i].status)
		}
	}
}

// Get returns the job with this id.
func (l *List) Get(id string) (Job, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	r, ok := l.byID[id]
	if !ok {
		return Job{}, false
	}
	return l.decode(r), true
}

// Version returns a number that grows whenever the content changes. It stays the same when the same
// content is stored again.
func (l *List) Version() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.version
}

// Unfinished returns the ids of the jobs without an ended status, oldest first.
func (l *List) Unfinished() []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var ids []string
	for _, r := range slices.Backward(l.records) {
		if !ended(l.symbols.texts[r.status]) {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// Untagged returns the ids of the newest jobs whose tags have not been read, at most n, newest first.
func (l *List) Untagged(n int) []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var ids []string
	for _, r := range l.records {
		if len(ids) >= n {
			break
		}
		if r.tags == nil {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// TagNames returns the names of the jobs' tags, sorted. It leaves out the names that begin with
// "batchctl:" or "aws:", which programs set.
func (l *List) TagNames() []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	names := []string{}
	seen := map[symbol]bool{}
	for _, r := range l.records {
		for _, t := range r.tags {
			if seen[t.name] {
				continue
			}
			seen[t.name] = true
			if name := l.symbols.texts[t.name]; !strings.HasPrefix(name, "batchctl:") &&
				!strings.HasPrefix(name, "aws:") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Counts returns the number of jobs by status. An array counts as one job.
func (l *List) Counts() map[string]int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	bySymbol := map[symbol]int{}
	for _, r := range l.records {
		bySymbol[r.status]++
	}
	counts := map[string]int{}
	for s, n := range bySymbol {
		counts[l.symbols.texts[s]] = n
	}
	return counts
}

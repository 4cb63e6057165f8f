package joblist

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
)

// Row is a row of a window. Exactly one of the two is set.
type Row struct {
	Group *Group `json:"group,omitempty"`
	Job   *Job   `json:"job,omitempty"`
}

// Group is the row of a group.
type Group struct {
	// Key identifies the group in Query.Open.
	Key   string `json:"key"`
	Label string `json:"label"`
	// Jobs is the number of matching jobs, and Counts has it by status.
	Jobs   int            `json:"jobs"`
	Counts map[string]int `json:"counts"`
	// First and Last are when the oldest and the newest of the jobs were created, in milliseconds
	// since 1970, 0 if unknown.
	First int64 `json:"first,omitempty"`
	Last  int64 `json:"last,omitempty"`
	Open  bool  `json:"open,omitempty"`
}

// Window is a part of the rows of a query.
type Window struct {
	Version uint64 `json:"version"`
	// Total is the number of all rows, with those of groups.
	Total int `json:"total"`
	// Jobs is the number of matching jobs, and Counts has it by status.
	Jobs   int            `json:"jobs"`
	Rows   []Row          `json:"rows"`
	Counts map[string]int `json:"counts"`
}

// Window returns the rows From to From+Count of a query. Groups by workflow have the run as key, and
// the group with the newest First comes first. Other groups are sorted by label. Groups of jobs
// without a value are last. The key of a group by tag is "=" and the value, "none" or "unread".
//
// Results are kept until the content changes, so windows of one query fit together. Durations of
// unfinished jobs may place them as they were up to 10 seconds before Now.
func (l *List) Window(q Query) Window {
	l.mu.RLock()
	defer l.mu.RUnlock()
	w := Window{Version: l.version, Rows: []Row{}, Counts: map[string]int{}}
	if len(l.records) == 0 {
		return w
	}
	r := l.result(q)
	w.Total, w.Jobs = len(r.order), len(r.order)
	w.Counts = l.symbols.countsOf(r, r.counts)
	skip, rest := max(q.From, 0), min(max(q.Count, 0), MaxCount)
	// emit appends those of the rows from to to that are in the window.
	emit := func(from, to int, row func(int) Row) {
		passed := min(skip, to-from)
		skip -= passed
		for i := from + passed; i < to && rest > 0; i++ {
			w.Rows = append(w.Rows, row(i))
			rest--
		}
	}
	job := func(i int) Row { return Row{Job: new(l.decode(l.records[r.order[i]]))} }
	if r.groups == nil {
		emit(0, len(r.order), job)
		return w
	}
	var open []int
	for _, key := range q.Open {
		if k, ok := l.keyOf(q.GroupBy, key); ok {
			if g, ok := r.find[k]; ok {
				open = append(open, int(g))
			}
		}
	}
	slices.Sort(open)
	open = slices.Compact(open)
	group := func(i int) Row {
		_, isOpen := slices.BinarySearch(open, i)
		return Row{Group: l.group(q.GroupBy, r, i, isOpen)}
	}
	w.Total = len(r.groups)
	next := 0
	for _, g := range open {
		emit(next, g+1, group)
		from, jobs := int(r.groups[g].from), int(r.groups[g].jobs)
		emit(from, from+jobs, job)
		w.Total += jobs
		next = g + 1
	}
	emit(next, len(r.groups), group)
	return w
}

// result is the answer to a query, of which windows are parts.
type result struct {
	// query is Values of the query as text, and now its time.
	query string
	now   int64
	// order has the indexes of the matching records, group by group.
	order []int32
	// statuses are those of the matching jobs. Each list of counts is parallel to it.
	statuses []symbol
	counts   []int32
	// groups is nil if the query has none. A group's counts begin at found*len(statuses).
	groups      []group
	groupCounts []int32
	find        map[groupKey]int32
}

// group is a group of a result.
type group struct {
	key         groupKey
	first, last int64
	// from is where the group's jobs begin in the order.
	from, jobs int32
	// found is the group's index before groups were sorted, which groupCounts has.
	found int32
	// workflow is that of the newest job with one.
	workflow symbol
}

// groupKey is the symbol of a group's value, or one of the constants.
type groupKey int64

const (
	unread groupKey = -2 // tags not read
	noTag  groupKey = -1
)

const (
	// maxResults is how many results are kept.
	maxResults = 16
	// maxAge is for how many milliseconds an order by a duration of unfinished jobs is kept.
	maxAge = 10_000
)

// cache keeps what readers computed.
type cache struct {
	mu sync.Mutex
	// results are those of the latest queries on the current version, oldest first.
	results []*result
	// ids has the ids in the order of records, nil if they are others now.
	ids *foldedTexts
}

// idsOf returns the ids of the list's records.
func (c *cache) idsOf(records []*record) *foldedTexts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids = &foldedTexts{}
		for _, r := range records {
			c.ids.add(r.id)
		}
	}
	return c.ids
}

// get returns the result of a query, nil if there is none.
func (c *cache) get(query string, q Query) *result {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.results, func(r *result) bool { return r.query == query })
	if i < 0 {
		return nil
	}
	r := c.results[i]
	if age := q.Now - r.now; (q.SortBy == "waited" || q.SortBy == "ran") && (age > maxAge || age < -maxAge) {
		return nil
	}
	return r
}

// put adds a result and drops the one that it replaces, or the oldest.
func (c *cache) put(r *result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results = slices.DeleteFunc(c.results, func(o *result) bool { return o.query == r.query })
	if len(c.results) == maxResults {
		c.results = slices.Delete(c.results, 0, 1)
	}
	c.results = append(c.results, r)
}

// result returns the result of a query. The list has at least one job.
func (l *List) result(q Query) *result {
	query := q.Values().Encode()
	if r := l.cache.get(query, q); r != nil {
		return r
	}
	r := &result{query: query, now: q.Now}
	matching := l.matching(q)
	for _, at := range matching {
		i := r.column(l.records[at].status)
		if i == len(r.counts) {
			r.statuses, r.counts = append(r.statuses, l.records[at].status), append(r.counts, 0)
		}
		r.counts[i]++
	}
	if value := l.grouping(q.GroupBy); value != nil {
		// This pass is before the sort: records that were stored together are next to each other in memory.
		member := l.collectGroups(r, matching, value)
		r.order = l.divide(r, q.GroupBy, l.sorted(q, matching), member)
	} else {
		r.order = l.sorted(q, matching)
	}
	l.cache.put(r)
	return r
}

// column returns the index of a status in the lists of counts, or their length. There are few
// statuses, so a search is faster than a map.
func (r *result) column(status symbol) int {
	for i, s := range r.statuses {
		if s == status {
			return i
		}
	}
	return len(r.statuses)
}

// matching returns the indexes of the records that match a query, in the order of records.
func (l *List) matching(q Query) []int32 {
	found := make([]int32, 0, len(l.records))
	statuses, queues := l.symbols.symbolsOf(q.Statuses), l.symbols.symbolsOf(q.Queues)
	for i, r := range l.records {
		if (len(q.Statuses) == 0 || slices.Contains(statuses, r.status)) &&
			(len(q.Queues) == 0 || slices.Contains(queues, r.queue)) {
			found = append(found, int32(i))
		}
	}
	for _, t := range q.terms() {
		matches := l.matcher(t)
		found = slices.DeleteFunc(found, func(at int32) bool { return !matches(at, l.records[at]) })
	}
	return found
}

// matcher returns a function that reports whether a record matches a term. It searches each distinct
// text once: most of them belong to many jobs.
func (l *List) matcher(t term) func(at int32, r *record) bool {
	if t.field == "id" {
		ids := l.cache.idsOf(l.records).containing(t.word)
		return func(at int32, _ *record) bool { return ids[at] }
	}
	contains := l.symbols.folded.containing(t.word)
	inTags := func(r *record) bool {
		for _, g := range r.tags {
			if contains[g.value] {
				return true
			}
		}
		return false
	}
	switch t.field {
	case "name":
		return func(_ int32, r *record) bool { return contains[r.name] }
	case "queue":
		return func(_ int32, r *record) bool { return contains[r.queue] }
	case "definition":
		return func(_ int32, r *record) bool { return contains[r.definition] }
	case "reason":
		return func(_ int32, r *record) bool { return contains[r.reason] }
	case "workflow":
		return func(_ int32, r *record) bool { return contains[r.workflow] || contains[r.run] }
	case "status":
		return func(_ int32, r *record) bool { return contains[r.status] }
	case "tag":
		if t.tag == "" {
			return func(_ int32, r *record) bool { return inTags(r) }
		}
		named := l.symbols.folded.equal(t.tag)
		return func(_ int32, r *record) bool {
			return slices.ContainsFunc(r.tags, func(g tag) bool { return named[g.name] && contains[g.value] })
		}
	}
	ids := l.cache.idsOf(l.records).containing(t.word)
	return func(at int32, r *record) bool {
		return ids[at] || contains[r.name] || contains[r.queue] || contains[r.definition] || contains[r.reason] ||
			contains[r.workflow] || contains[r.run] || inTags(r)
	}
}

// missing is the sort key of jobs without a value.
const missing = math.MaxInt64

// largestFirst returns the sort key of a time or duration, for which 0 is "not yet".
func largestFirst(value int64) int64 {
	if value == 0 {
		return missing
	}
	return -value
}

// sorted sorts indexes of records, which are in the order of records.
func (l *List) sorted(q Query, order []int32) []int32 {
	key := func(r *record) int64 { return largestFirst(r.created) }
	switch q.SortBy {
	case "name":
		key = func(r *record) int64 { return int64(l.symbols.rank[r.name]) }
	case "queue":
		key = func(r *record) int64 { return int64(l.symbols.rank[r.queue]) }
	case "status":
		key = func(r *record) int64 { return int64(l.symbols.progress(r.status)) }
	case "started":
		key = func(r *record) int64 { return largestFirst(r.started) }
	case "waited":
		key = func(r *record) int64 { return l.symbols.duration(r, r.created, cmp.Or(r.started, r.stopped), q.Now) }
	case "ran":
		key = func(r *record) int64 { return l.symbols.duration(r, r.started, r.stopped, q.Now) }
	default:
		if !q.Reverse {
			return order
		}
	}
	type keyed struct {
		key int64
		at  int32
	}
	keys := make([]keyed, len(order))
	for i, at := range order {
		k := key(l.records[at])
		if q.Reverse && k != missing {
			k = -k
		}
		keys[i] = keyed{k, at}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return cmp.Compare(a.at, b.at)
	})
	for i, k := range keys {
		order[i] = k.at
	}
	return order
}

// grouping returns the function that finds a job's group, nil without groups.
func (l *List) grouping(by string) func(*record) groupKey {
	switch by {
	case "workflow":
		return func(r *record) groupKey { return groupKey(r.run) }
	case "queue":
		return func(r *record) groupKey { return groupKey(r.queue) }
	case "status":
		return func(r *record) groupKey { return groupKey(r.status) }
	case "definition":
		return func(r *record) groupKey { return groupKey(r.definition) }
	}
	name, isTag := strings.CutPrefix(by, "tag:")
	if !isTag {
		return nil
	}
	wanted, used := l.symbols.find[name]
	return func(r *record) groupKey {
		if r.tags == nil {
			return unread
		}
		for _, t := range r.tags {
			if used && t.name == wanted {
				return groupKey(t.value)
			}
		}
		return noTag
	}
}

// collectGroups finds the groups of the matching records, which are in the order of records. It
// returns the index of the group for each record of the list.
func (l *List) collectGroups(r *result, matching []int32, value func(*record) groupKey) (member []int32) {
	index := make([]int32, len(l.symbols.texts)+2) // of a key's group, from 1; keys start with unread
	member = make([]int32, len(l.records))
	r.groups = []group{}
	for _, at := range matching {
		job := l.records[at]
		key := value(job)
		i := &index[key-unread]
		if *i == 0 {
			r.groups = append(r.groups, group{key: key, found: int32(len(r.groups))})
			r.groupCounts = append(r.groupCounts, make([]int32, len(r.statuses))...)
			*i = int32(len(r.groups))
		}
		member[at] = *i - 1
		g := &r.groups[*i-1]
		g.jobs++
		r.groupCounts[int(g.found)*len(r.statuses)+r.column(job.status)]++
		if job.created != 0 {
			g.last = max(g.last, job.created)
			g.first = min(cmp.Or(g.first, job.created), job.created)
		}
		g.workflow = cmp.Or(g.workflow, job.workflow)
	}
	return member
}

// divide sorts the groups of a result. It returns the order of jobs group by group, with the given
// order in each group.
func (l *List) divide(r *result, by string, order, member []int32) []int32 {
	slices.SortFunc(r.groups, func(a, b group) int { return l.compareGroups(by, &a, &b) })
	r.find = make(map[groupKey]int32, len(r.groups))
	next := make([]int32, len(r.groups)) // place of the next job, by found
	from := int32(0)
	for i := range r.groups {
		g := &r.groups[i]
		r.find[g.key] = int32(i)
		g.from, next[g.found] = from, from
		from += g.jobs
	}
	divided := make([]int32, len(order))
	for _, at := range order {
		n := &next[member[at]]
		divided[*n] = at
		*n++
	}
	return divided
}

// compareGroups is the order of groups.
func (l *List) compareGroups(by string, a, b *group) int {
	if x, y := emptiness(by, a.key), emptiness(by, b.key); x != y || x > 0 {
		return x - y
	}
	if by == "workflow" && a.first != b.first {
		return cmp.Compare(largestFirst(a.first), largestFirst(b.first))
	}
	return cmp.Compare(l.symbols.rank[a.key], l.symbols.rank[b.key])
}

// emptiness returns 0 for the group of a value, and the order of the other groups, which are last.
func emptiness(by string, key groupKey) int {
	switch {
	case key == unread:
		return 2
	case key == noTag || key == 0 && !strings.HasPrefix(by, "tag:"):
		return 1
	}
	return 0
}

// keyOf is the inverse of Group.Key. It reports false for a key that no group has.
func (l *List) keyOf(by, text string) (groupKey, bool) {
	if strings.HasPrefix(by, "tag:") {
		switch text {
		case "none":
			return noTag, true
		case "unread":
			return unread, true
		}
		value, ok := strings.CutPrefix(text, "=")
		if !ok {
			return 0, false
		}
		text = value
	}
	s, ok := l.symbols.find[text]
	return groupKey(s), ok
}

// group returns the row of group i of a result.
func (l *List) group(by string, r *result, i int, open bool) *Group {
	g := &r.groups[i]
	row := &Group{Jobs: int(g.jobs), First: g.first, Last: g.last, Open: open,
		Counts: l.symbols.countsOf(r, r.groupCounts[int(g.found)*len(r.statuses):][:len(r.statuses)])}
	name, isTag := strings.CutPrefix(by, "tag:")
	switch {
	case g.key == unread:
		row.Key, row.Label = "unread", "(tags not read)"
	case g.key == noTag:
		row.Key, row.Label = "none", "(no tag "+name+")"
	case isTag:
		value := l.symbols.texts[g.key]
		row.Key, row.Label = "="+value, cmp.Or(value, "(empty)")
	case g.key == 0:
		row.Label = "(no " + by + ")"
	default:
		row.Key = l.symbols.texts[g.key]
		row.Label = row.Key
		if by == "workflow" {
			row.Label = l.symbols.runLabel(g)
		}
	}
	return row
}

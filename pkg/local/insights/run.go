package insights

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// maxMemory limits the memory of the rows, groups and numbers that a run keeps, in bytes.
const maxMemory = 256 << 20

// ErrMemory is the error of a run that would keep too much.
var ErrMemory = errors.New("the query needs more than 256 MiB of memory for log events and values; add a filter, or lower its limit")

// Run is a run of a query.
type Run struct {
	query   *Query
	account string
	now     int64
	limit   int
	first   stage
	scratch *row
	last    *results
	memory  int
	err     error
	// Matched counts the events that came through the commands before the first one that needs all of them.
	Matched int64
	count   int64
}

// Start begins a run. limit is that of the request; 0: none. account is part of @log, and now the time in epoch
// milliseconds.
func (q *Query) Start(limit int, account string, now int64) *Run {
	r := &Run{query: q, account: account, now: now, limit: DefaultLimit}
	if q.limit > 0 {
		r.limit = MaxLimit // a limit of the query applies
	}
	if limit > 0 {
		r.limit = limit
	}
	r.last = &results{run: r}
	r.first = &collector{run: r, next: r.last, limit: r.limit}
	counted := slices.IndexFunc(q.commands, func(c command) bool { return c.collects })
	if counted < 0 {
		r.first = &countStage{r, r.first}
	}
	rows := r.limit
	for i, c := range slices.Backward(q.commands) {
		if r.first = c.start(r, r.first, rows); i == counted {
			r.first = &countStage{r, r.first}
		}
		if c.limit > 0 {
			rows = min(rows, c.limit)
		}
	}
	r.scratch = r.newRow()
	return r
}

// Add passes an event to the run. The run does not keep e, but can keep its texts.
func (r *Run) Add(e *Event) error {
	s := r.scratch
	s.event, s.loaded, s.keys = e, false, s.keys[:0]
	s.sequence = r.count
	r.count++
	s.order = nil
	r.first.add(s)
	return r.err
}

// Finish returns the results after the last event.
func (r *Run) Finish() ([][]Field, error) {
	r.first.finish()
	return r.last.rows, r.err
}

// Size returns about how many bytes the results have.
func (r *Run) Size() int { return r.last.size }

// grow counts memory that the run keeps. It reports false if that is too much; then the run fails.
func (r *Run) grow(bytes int) bool {
	if r.memory += bytes; r.memory > maxMemory && r.err == nil {
		r.err = ErrMemory
	}
	return r.err == nil
}

// row is an event, or a group of stats, on its way through the commands.
type row struct {
	event   *Event // nil for a group
	account string
	now     int64
	values  []value
	loaded  bool // the fields of the message are in values
	results []value
	// keys are the values to sort by, and order says how.
	keys     []value
	order    []sortKey
	sequence int64
	kept     bool // the row is not reused
	size     int
}

func (r *Run) newRow() *row {
	return &row{account: r.account, now: r.now, values: make([]value, r.query.slots)}
}

// load sets the fields of the message that the query uses.
func (r *row) load(q *Query) {
	r.loaded = true
	for _, slot := range q.discovered {
		r.values[slot] = value{}
	}
	w := walker{text: r.event.Message, within: q.within, found: func(path string, v value) {
		if slot, ok := q.discovered[path]; ok {
			r.values[slot] = v
		}
	}}
	if !w.message() {
		for _, slot := range q.discovered {
			r.values[slot] = value{}
		}
	}
}

// keep returns the row in a form that stays, with its size.
func (r *row) keep() *row {
	if !r.kept {
		c := *r
		if r.event != nil {
			e := *r.event
			c.event = &e
		}
		c.values, c.keys, c.kept = slices.Clone(r.values), slices.Clone(r.keys), true
		r = &c
	}
	r.size = 200
	if r.event != nil {
		r.size += len(r.event.Message)
	}
	for _, v := range r.values {
		r.size += 40 + len(v.text)
	}
	for _, v := range r.keys {
		r.size += 40 + len(v.text)
	}
	return r
}

// stage is a command in a run.
type stage interface {
	add(r *row)
	// finish is called once, after the last row.
	finish()
}

// countStage counts the events that match.
type countStage struct {
	run  *Run
	next stage
}

func (s *countStage) add(r *row) {
	s.run.Matched++
	s.next.add(r)
}

func (s *countStage) finish() { s.next.finish() }

type filterStage struct {
	next      stage
	condition func(*row) value
}

func (s *filterStage) add(r *row) {
	if s.condition(r).truth() {
		s.next.add(r)
	}
}

func (s *filterStage) finish() { s.next.finish() }

type assignStage struct {
	next     stage
	assigned []assignment
}

func (s *assignStage) add(r *row) {
	for _, a := range s.assigned {
		r.values[a.slot] = a.eval(r)
	}
	s.next.add(r)
}

func (s *assignStage) finish() { s.next.finish() }

type parseStage struct {
	next  stage
	of    func(*row) value
	slots []int
	match func(s string, found []string) bool
	found []string
}

func (s *parseStage) add(r *row) {
	v := s.of(r)
	ok := v.kind != absent && s.match(v.String(), s.found)
	for i, slot := range s.slots {
		r.values[slot] = value{}
		if ok {
			r.values[slot] = textOf(s.found[i])
		}
	}
	s.next.add(r)
}

func (s *parseStage) finish() { s.next.finish() }

// sortKey is a key of a sort command.
type sortKey struct {
	eval       func(*row) value
	descending bool
}

// sortStage gives each row its keys. The stage that next keeps only some rows, or the end, sorts: so no command needs
// all rows in memory.
type sortStage struct {
	next stage
	keys []sortKey
}

func (s *sortStage) add(r *row) {
	r.order, r.keys = s.keys, r.keys[:0]
	for _, k := range s.keys {
		r.keys = append(r.keys, k.eval(r))
	}
	s.next.add(r)
}

func (s *sortStage) finish() { s.next.finish() }

// compareRows orders rows by the keys of sort; without a sort events by time, the newest first. Equal rows stay as they
// came, or in the reverse order if the last key descends.
func compareRows(a, b *row) int {
	for i, k := range a.order {
		c := natural(a.keys[i], b.keys[i])
		if k.descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	reverse := len(a.order) > 0 && a.order[len(a.order)-1].descending
	if len(a.order) == 0 && a.event != nil {
		if c := cmp.Compare(b.event.Timestamp, a.event.Timestamp); c != 0 {
			return c
		}
		reverse = true
	}
	if reverse {
		return cmp.Compare(b.sequence, a.sequence)
	}
	return cmp.Compare(a.sequence, b.sequence)
}

// collector keeps the first rows in the order of the last sort, and of rows with the same values of unique the first.
type collector struct {
	run    *Run
	next   stage
	limit  int
	unique []func(*row) value
	rows   []*row
	full   bool // the first limit rows are sorted, and only rows before the last of them can matter
}

func (c *collector) add(r *row) {
	if c.full && compareRows(c.rows[c.limit-1], r) < 0 {
		return
	}
	k := r.keep()
	if !c.run.grow(k.size) {
		return
	}
	c.rows = append(c.rows, k)
	// Sort seldom, unless the rows are long.
	if n := len(c.rows); n >= 2*c.limit+1000 || n >= c.limit+c.limit/8+16 && c.run.memory > maxMemory/2 {
		c.compact()
	}
}

// compact drops all rows that cannot be among the first ones. A row that is dropped because of the limit can be
// forgotten with its values: a later row with the same values is either after the limit too, or before that row.
func (c *collector) compact() {
	slices.SortStableFunc(c.rows, compareRows)
	seen := map[string]bool{}
	kept := c.rows[:0]
	for _, r := range c.rows {
		if len(kept) < c.limit && !c.repeats(r, seen) {
			kept = append(kept, r)
		} else {
			c.run.memory -= r.size
		}
	}
	clear(c.rows[len(kept):])
	c.rows, c.full = kept, len(kept) == c.limit
}

// repeats reports whether a row has the values of one before it. Rows without one of the values do not.
func (c *collector) repeats(r *row, seen map[string]bool) bool {
	if len(c.unique) == 0 {
		return false
	}
	var key []byte
	for _, of := range c.unique {
		v := of(r)
		if v.kind == absent {
			return false
		}
		key = appendKey(key, v)
	}
	repeated := seen[string(key)]
	seen[string(key)] = true
	return repeated
}

func (c *collector) finish() {
	c.compact()
	for i, r := range c.rows {
		c.run.memory -= r.size
		c.rows[i] = nil
		c.next.add(r)
	}
	c.next.finish()
}

// results is the last stage.
type results struct {
	run  *Run
	rows [][]Field
	size int
}

func (s *results) add(r *row) {
	var fields []Field
	for _, c := range s.run.query.columns {
		if v := c.eval(r); v.kind != absent {
			fields = append(fields, Field{c.name, strings.Clone(v.String())})
		}
	}
	if r.event != nil && !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == fieldPointer }) {
		fields = append(fields, Field{fieldPointer, r.event.Pointer()})
	}
	size := 0
	for _, f := range fields {
		size += 64 + len(f.Value)
	}
	if s.size += size; s.run.grow(size) {
		s.rows = append(s.rows, fields)
	}
}

func (s *results) finish() {}

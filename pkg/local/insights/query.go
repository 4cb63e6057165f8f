// Package insights runs queries of CloudWatch Logs Insights over log events. It does no I/O: the caller reads the
// events and passes them on one by one.
//
// A query keeps only the rows that can be among its results, and a limited amount of memory. Parts of the language that
// it does not implement are an error that names them.
package insights

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// DefaultLimit is the number of results of a query without a limit, and MaxLimit the largest limit (API reference
	// of StartQuery).
	DefaultLimit = 10000
	MaxLimit     = 100000
	// maxStats is how many stats commands a query can have (user guide, "stats").
	maxStats = 2
)

// Query is a compiled query. Several runs can use it at the same time.
type Query struct {
	commands []command
	// columns are the columns of the results; chosen is true if fields or display chose them.
	columns []column
	chosen  bool
	slots   int
	// discovered has the slots of the fields of JSON messages that the query uses; within has the paths above them.
	discovered map[string]int
	within     map[string]bool
	// limit is the largest limit of the query; 0 if it has none.
	limit int
	// aggregated is true if the results are not events.
	aggregated bool
}

// command is a command of the language.
type command struct {
	// limit is the number of rows that it keeps; 0: all.
	limit int
	// collects is true for a command that needs all rows before it passes one on.
	collects bool
	// start creates its stage for a run. next is the stage after it, which needs at most limit rows.
	start func(r *Run, next stage, limit int) stage
}

// add adds a command that passes rows on one by one.
func (q *Query) add(start func(next stage) stage) {
	q.commands = append(q.commands, command{start: func(_ *Run, next stage, _ int) stage { return start(next) }})
}

// column is a column of the results.
type column struct {
	name string
	eval func(*row) value
}

// assignment is a field with the expression that gives its value.
type assignment struct {
	slot int
	eval func(*row) value
	name string
}

// slot returns a new place for a value in each row.
func (q *Query) slot() int {
	q.slots++
	return q.slots - 1
}

// show adds a column, or replaces the one with its name.
func (q *Query) show(name string, eval func(*row) value) {
	for i := range q.columns {
		if q.columns[i].name == name {
			q.columns[i].eval = eval
			return
		}
	}
	q.columns = append(q.columns, column{name, eval})
}

// Parse compiles a query. The error is a *SyntaxError.
func Parse(text string) (*Query, error) {
	q := &Query{discovered: map[string]int{}, within: map[string]bool{}}
	p := &parser{lexer: lexer{text: text}, scope: scope{query: q, defined: map[string]int{}}}
	stats, dedup := 0, false
	for {
		p.blanks()
		start := p.pos
		name := strings.ToLower(p.peekWord())
		if name == "" {
			return nil, p.unexpected()
		}
		parse := p.command(name)
		if parse == nil {
			return nil, p.unknownCommand(name)
		}
		if dedup && name != "limit" {
			return nil, p.failAt(start, start+len(name), "only limit can follow dedup, not %s", name)
		}
		p.pos += len(name)
		if name == "stats" {
			stats++
		}
		if stats > maxStats {
			return nil, p.failAt(start, p.pos, "a query can have at most %d stats commands", maxStats)
		}
		dedup = dedup || name == "dedup"
		if err := parse(); err != nil {
			return nil, err
		}
		if p.ended() {
			break
		}
		if err := p.want("|"); err != nil {
			return nil, err
		}
	}
	q.aggregated = p.aggregated
	if !q.chosen && !q.aggregated { // parsed fields follow
		q.columns = append([]column{{fieldTimestamp, q.system(fieldTimestamp)}, {fieldMessage, q.system(fieldMessage)}},
			q.columns...)
	}
	return q, nil
}

// command returns how to read a command, whose name has been read; nil for another word.
func (p *parser) command(name string) func() error {
	return map[string]func() error{"dedup": p.dedup, "display": p.display, "fields": p.fields, "filter": p.filter,
		"limit": p.limit,
		"parse": p.parse, "sort": p.sort, "stats": p.stats}[name]
}

// notImplemented are commands of the language that the engine does not implement (user guide).
var notImplemented = []string{"anomaly", "diff", "filterindex", "join", "lookup", "pattern", "source", "unmask",
	"unnest"}

// unknownCommand returns the error for a word that is not a command here.
func (p *parser) unknownCommand(name string) error {
	word := p.peekWord()
	switch {
	case name == "head" || name == "tail":
		return p.failAt(p.pos, p.pos+len(word),
			"the local engine does not implement the command %s; use sort and limit", word)
	case slices.Contains(notImplemented, name):
		return p.failAt(p.pos, p.pos+len(word), "the local engine does not implement the command %s", word)
	}
	return p.unexpected()
}

// fields adds columns.
func (p *parser) fields() error {
	q := p.query
	q.chosen = true
	var assigned []assignment
	for first := true; first || p.symbol(","); first = false {
		e, err := p.expression()
		if err != nil {
			return err
		}
		name, err := p.alias(e)
		if err != nil {
			return err
		}
		if e.field == name {
			q.show(name, e.eval)
			continue
		}
		a := assignment{p.define(name), e.eval, name}
		assigned = append(assigned, a)
		q.show(name, p.reference(name))
	}
	q.add(func(next stage) stage { return &assignStage{next, assigned} })
	return nil
}

// display chooses the columns. The last display of a query counts.
func (p *parser) display() error {
	q := p.query
	q.columns, q.chosen = nil, true
	for first := true; first || p.symbol(","); first = false {
		p.blanks()
		start := p.pos
		e, err := p.expression()
		if err != nil {
			return err
		}
		if e.field == "" {
			return p.failAt(start, p.pos, "display lists fields only; give the expression a name with fields ... as")
		}
		q.show(e.field, e.eval)
	}
	return nil
}

// filter keeps the rows that match a condition.
func (p *parser) filter() error {
	e, err := p.expression()
	if err != nil {
		return err
	}
	p.query.add(func(next stage) stage { return &filterStage{next, e.eval} })
	return nil
}

// sort sets the order of the rows.
func (p *parser) sort() error {
	var keys []sortKey
	for first := true; first || p.symbol(","); first = false {
		e, err := p.expression()
		if err != nil {
			return err
		}
		k := sortKey{eval: e.eval, descending: p.keyword("desc")}
		if !k.descending {
			p.keyword("asc")
		}
		keys = append(keys, k)
	}
	p.query.add(func(next stage) stage { return &sortStage{next, keys} })
	return nil
}

// limit keeps the first rows.
func (p *parser) limit() error {
	word := p.peekWord()
	n, err := strconv.Atoi(word)
	if err != nil || digits(word) != len(word) {
		return p.unexpected()
	}
	if n < 1 || n > MaxLimit {
		return p.failAt(p.pos, p.pos+len(word), "limit must be between 1 and %d", MaxLimit)
	}
	p.pos += len(word)
	p.query.limit = max(p.query.limit, n)
	p.query.commands = append(p.query.commands, command{limit: n, collects: true,
		start: func(r *Run, next stage, _ int) stage {
			return &collector{run: r, next: next, limit: n}
		}})
	return nil
}

// dedup keeps the first row of each list of values.
func (p *parser) dedup() error {
	var of []func(*row) value
	for first := true; first || p.symbol(","); first = false {
		p.blanks()
		start := p.pos
		e, err := p.expression()
		if err != nil {
			return err
		}
		if e.field == "" {
			return p.failAt(start, p.pos, "dedup lists fields only")
		}
		of = append(of, e.eval)
	}
	p.query.commands = append(p.query.commands, command{collects: true,
		start: func(r *Run, next stage, limit int) stage {
			return &collector{run: r, next: next, limit: limit, unique: of}
		}})
	return nil
}

// parse takes fields out of a text, with a glob or with a regular expression.
func (p *parser) parse() error {
	e, err := p.primary()
	if err != nil {
		return err
	}
	p.blanks()
	start := p.pos
	glob, ok, err := p.quoted()
	if err != nil {
		return err
	}
	var names []string
	var match func(s string, found []string) bool
	if ok {
		if names, err = p.names(); err != nil {
			return err
		}
		pieces := strings.Split(glob, "*")
		if len(pieces)-1 != len(names) {
			return p.failAt(start, p.pos, "the glob has %d *, and as has %d names", len(pieces)-1, len(names))
		}
		match = func(s string, found []string) bool { return matchGlob(pieces, s, found) }
	} else {
		re, err := p.regexp()
		if err != nil {
			return err
		}
		var groups []int
		for i, name := range re.SubexpNames() {
			if name != "" {
				names, groups = append(names, name), append(groups, i)
			}
		}
		if len(names) == 0 {
			return p.failAt(start, p.pos, "the regular expression of parse needs named groups, such as (?<name>.*)")
		}
		match = func(s string, found []string) bool { return matchGroups(re, groups, s, found) }
	}
	slots := make([]int, len(names))
	for i, name := range names {
		slots[i] = p.define(name)
		p.query.show(name, p.reference(name))
	}
	p.query.add(func(next stage) stage {
		return &parseStage{next: next, of: e, slots: slots, match: match, found: make([]string, len(slots))}
	})
	return nil
}

// matchGlob finds the first place of a text where the pieces of a glob follow each other. Each star matches as little
// as it can; one at the end matches the rest.
func matchGlob(pieces []string, s string, found []string) bool {
	_, s, ok := strings.Cut(s, pieces[0])
	if !ok {
		return false
	}
	for i, piece := range pieces[1:] {
		if piece == "" && i == len(found)-1 {
			found[i] = s
			return true
		}
		if found[i], s, ok = strings.Cut(s, piece); !ok {
			return false
		}
	}
	return true
}

// matchGroups finds the groups of a regular expression.
func matchGroups(re *regexp.Regexp, groups []int, s string, found []string) bool {
	m := re.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	for i, g := range groups {
		found[i] = m[g]
	}
	return true
}

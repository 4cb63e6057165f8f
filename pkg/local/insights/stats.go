package insights

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// aggregateFunctions are the functions of stats, with their number of arguments (user guide, "stats").
var aggregateFunctions = map[string]int{"avg": 1, "count": 1, "count_distinct": 1, "earliest": 1, "latest": 1, "max": 1,
	"min": 1,
	"pct": 2, "sortsfirst": 1, "sortslast": 1, "stddev": 1, "sum": 1}

// aggregate is a call of a function of stats.
type aggregate struct {
	function string
	of       func(*row) value // nil: count(*)
	percent  float64          // of pct
}

// aggregate reads the arguments of a function of stats, whose parenthesis has been read.
func (p *parser) aggregate(function string, start int) (func(*row) value, error) {
	if p.aggregates == nil {
		return nil, p.failAt(start, p.pos, "the function %s can only be used in stats",
			strings.TrimSuffix(p.text[start:p.pos], "("))
	}
	if p.aggregated && (function == "earliest" || function == "latest") {
		return nil, p.failAt(start, p.pos, "the local engine implements %s only in the first stats of a query",
			function)
	}
	list := p.aggregates
	p.aggregates = nil // an aggregate of an aggregate
	defer func() { p.aggregates = list }()
	a := aggregate{function: function}
	if function != "count" || !p.symbol("*") && !strings.HasPrefix(p.text[p.pos:], ")") {
		e, err := p.either()
		if err != nil {
			return nil, err
		}
		a.of = e
	}
	if function == "pct" {
		if err := p.want(","); err != nil {
			return nil, err
		}
		word := p.peekWord()
		var ok bool
		if a.percent, ok = parseNumber(word); !ok || a.percent < 0 || a.percent > 100 {
			return nil, p.unexpected()
		}
		p.pos += len(word)
	}
	*list = append(*list, a)
	index := len(*list) - 1
	return func(r *row) value { return r.results[index] }, p.want(")")
}

// statsCommand is a stats command.
type statsCommand struct {
	aggregates []aggregate
	by, give   []assignment
}

// stats reads a stats command. Its columns replace all fields.
func (p *parser) stats() error {
	c := &statsCommand{}
	names := map[string]int{}
	assigned := func(list []assignment) ([]assignment, error) {
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		name, err := p.alias(e)
		if err != nil {
			return nil, err
		}
		names[name] = p.query.slot()
		return append(list, assignment{names[name], e.eval, name}), nil
	}
	p.aggregates = &c.aggregates
	for len(c.give) == 0 || p.symbol(",") {
		before, start := len(c.aggregates), p.pos
		var err error
		if c.give, err = assigned(c.give); err != nil {
			return err
		}
		if len(c.aggregates) == before {
			return p.failAt(start, p.pos, "stats needs a function such as count(*)")
		}
	}
	p.aggregates = nil
	if p.keyword("by") {
		for len(c.by) == 0 || p.symbol(",") {
			var err error
			if c.by, err = assigned(c.by); err != nil {
				return err
			}
		}
	}
	p.query.columns = nil
	p.defined, p.aggregated = names, true
	for _, a := range append(slices.Clone(c.by), c.give...) {
		p.query.show(a.name, p.reference(a.name))
	}
	p.query.commands = append(p.query.commands, command{collects: true, start: func(r *Run, next stage, _ int) stage {
		return &statsStage{run: r, command: c, next: next, groups: map[string]*group{}}
	}})
	return nil
}

// statsStage groups rows.
type statsStage struct {
	run     *Run
	command *statsCommand
	next    stage
	groups  map[string]*group
	key     []byte
}

// group is the rows with the same values of by.
type group struct {
	by   []value
	sums []accumulator
}

// groupSize is about the memory of a group or an accumulator, in bytes.
const groupSize = 150

func (s *statsStage) add(r *row) {
	s.key = s.key[:0]
	for _, b := range s.command.by {
		s.key = appendKey(s.key, b.eval(r))
	}
	g := s.groups[string(s.key)]
	if g == nil {
		g = &group{sums: make([]accumulator, len(s.command.aggregates))}
		for _, b := range s.command.by {
			g.by = append(g.by, b.eval(r))
		}
		if !s.run.grow(groupSize*(1+len(g.by)+len(g.sums)) + 2*len(s.key)) {
			return
		}
		s.groups[string(s.key)] = g
	}
	for i := range g.sums {
		g.sums[i].add(s.run, &s.command.aggregates[i], r)
	}
}

// finish passes a row for each group on, in the order of the values of by. CloudWatch documents no order.
func (s *statsStage) finish() {
	groups := make([]*group, 0, len(s.groups))
	for _, g := range s.groups {
		groups = append(groups, g)
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		for i := range a.by {
			if c := natural(a.by[i], b.by[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	for i, g := range groups {
		r := s.run.newRow()
		r.sequence, r.loaded = int64(i), true
		r.results = make([]value, len(g.sums))
		for k := range g.sums {
			r.results[k] = g.sums[k].result(&s.command.aggregates[k])
		}
		for k, b := range s.command.by {
			r.values[b.slot] = g.by[k]
		}
		for _, a := range s.command.give {
			r.values[a.slot] = a.eval(r)
		}
		s.next.add(r)
	}
	s.next.finish()
}

// appendKey appends a value so that different lists of values give different keys.
func appendKey(key []byte, v value) []byte {
	s := v.String()
	if v.kind == absent {
		return append(key, '-')
	}
	key = strconv.AppendInt(key, int64(len(s)), 10)
	return append(append(key, ':'), s...)
}

// accumulator computes an aggregate of a group.
type accumulator struct {
	count     int64
	sum       float64
	mean, m2  float64 // Welford's algorithm for the deviation
	best      value
	bestAt    int64
	different map[string]bool
	numbers   []float64
}

func (a *accumulator) add(run *Run, g *aggregate, r *row) {
	if g.of == nil {
		a.count++
		return
	}
	v := g.of(r)
	if v.kind == absent {
		return
	}
	switch g.function {
	case "count":
		a.count++
	case "count_distinct":
		key := v.String()
		if !a.different[key] && run.grow(len(key)+64) {
			if a.different == nil {
				a.different = map[string]bool{}
			}
			a.different[strings.Clone(key)] = true
		}
	case "min", "sortsfirst":
		a.keep(v, a.count == 0 || natural(v, a.best) < 0)
	case "max", "sortslast":
		a.keep(v, a.count == 0 || natural(v, a.best) > 0)
	case "earliest":
		if a.keep(v, a.count == 0 || r.event.Timestamp < a.bestAt) {
			a.bestAt = r.event.Timestamp
		}
	case "latest":
		if a.keep(v, a.count == 0 || r.event.Timestamp >= a.bestAt) {
			a.bestAt = r.event.Timestamp
		}
	default:
		a.addNumber(run, g.function, v)
	}
}

// keep keeps a value if it is better than the one before.
func (a *accumulator) keep(v value, better bool) bool {
	a.count++
	if better {
		v.text = strings.Clone(v.text) // it can be part of a long message
		a.best = v
	}
	return better
}

// addNumber adds a value to an aggregate of numbers, which ignores texts.
func (a *accumulator) addNumber(run *Run, function string, v value) {
	f, ok := v.numeric()
	if !ok {
		return
	}
	a.count++
	a.sum += f
	delta := f - a.mean
	a.mean += delta / float64(a.count)
	a.m2 += delta * (f - a.mean)
	if function == "pct" && run.grow(16) {
		a.numbers = append(a.numbers, f)
	}
}

// result returns the aggregate.
func (a *accumulator) result(g *aggregate) value {
	switch {
	case g.function == "count":
		return numberOf(float64(a.count))
	case g.function == "count_distinct":
		return numberOf(float64(len(a.different)))
	case a.count == 0:
		return value{}
	}
	switch g.function {
	case "sum":
		return numberOf(a.sum)
	case "avg":
		return numberOf(a.sum / float64(a.count))
	case "stddev":
		return numberOf(math.Sqrt(a.m2 / float64(a.count)))
	case "pct":
		// The smallest number that is not below the percentile (nearest rank). CloudWatch documents no definition.
		slices.Sort(a.numbers)
		rank := int(math.Ceil(g.percent / 100 * float64(len(a.numbers))))
		if len(a.numbers) == 0 {
			return value{}
		}
		return numberOf(a.numbers[max(rank-1, 0)])
	}
	return a.best
}

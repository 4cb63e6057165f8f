package insights

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// expression is a compiled expression.
type expression struct {
	eval func(*row) value
	// source is its text in the query, which is the name of its column unless it has an alias.
	source string
	// field is the name if it is a field alone.
	field string
}

// parser compiles a query while it reads it.
type parser struct {
	lexer
	scope
	// aggregates collects the aggregates of a stats command; nil elsewhere.
	aggregates *[]aggregate
}

// expression reads an expression.
func (p *parser) expression() (expression, error) {
	p.blanks()
	start := p.pos
	eval, err := p.either()
	if err != nil {
		return expression{}, err
	}
	end := p.before()
	e := expression{eval: eval, source: p.text[start:end]}
	again := lexer{text: p.text, pos: start}
	if name, err := again.name(); err == nil && name != "" && again.pos == end {
		e.field, e.source = name, name
	} else if _, ok := p.defined[e.source]; ok && p.aggregated {
		e.field = e.source
	}
	return e, nil
}

// column reads a column of stats that is named after a call, such as count(*); nil if none comes next.
func (p *parser) column() func(*row) value {
	found := ""
	for name := range p.defined {
		if p.aggregated && strings.HasSuffix(name, ")") && strings.HasPrefix(p.text[p.pos:], name) &&
			len(name) > len(found) {
			found = name
		}
	}
	if found == "" {
		return nil
	}
	p.pos += len(found)
	return p.reference(found)
}

func (p *parser) either() (func(*row) value, error) {
	left, err := p.both()
	for err == nil && p.keyword("or") {
		a := left
		var b func(*row) value
		b, err = p.both()
		left = func(r *row) value { return booleanOf(a(r).truth() || b(r).truth()) }
	}
	return left, err
}

func (p *parser) both() (func(*row) value, error) {
	left, err := p.negation()
	for err == nil && p.keyword("and") {
		a := left
		var b func(*row) value
		b, err = p.negation()
		left = func(r *row) value { return booleanOf(a(r).truth() && b(r).truth()) }
	}
	return left, err
}

func (p *parser) negation() (func(*row) value, error) {
	if !p.keyword("not") {
		return p.comparison()
	}
	of, err := p.negation()
	return func(r *row) value { return booleanOf(!of(r).truth()) }, err
}

// comparisons are the operators that compare. One that begins with another comes before it.
var comparisons = []string{"!=", "<=", ">=", "=~", "=", "<", ">"}

// comparison reads a comparison, or one of its sides.
func (p *parser) comparison() (func(*row) value, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	negated := p.keyword("not")
	switch {
	case p.keyword("like"):
		return p.like(left, negated)
	case p.keyword("in"):
		return p.among(left, negated)
	case negated:
		return nil, p.unexpected()
	}
	for _, op := range comparisons {
		if !p.symbol(op) {
			continue
		}
		if op == "=~" {
			return p.like(left, false)
		}
		right, err := p.sum()
		return compared(op, left, right), err
	}
	return left, nil
}

// compared returns a comparison. A comparison with an absent field is false, except for !=, which is the opposite
// of =.
func compared(op string, left, right func(*row) value) func(*row) value {
	switch op {
	case "=":
		return func(r *row) value { return booleanOf(equal(left(r), right(r))) }
	case "!=":
		return func(r *row) value { return booleanOf(!equal(left(r), right(r))) }
	}
	return func(r *row) value {
		c, ok := compare(left(r), right(r))
		return booleanOf(ok && (c == 0 && len(op) == 2 || c < 0 && op[0] == '<' || c > 0 && op[0] == '>'))
	}
}

// like reads the right side of like: a text that must occur, or a regular expression.
func (p *parser) like(left func(*row) value, negated bool) (func(*row) value, error) {
	part, ok, err := p.quoted()
	if err != nil {
		return nil, err
	}
	matches := func(s string) bool { return strings.Contains(s, part) }
	if !ok {
		re, err := p.regexp()
		if err != nil {
			return nil, err
		}
		matches = re.MatchString
	}
	return func(r *row) value {
		v := left(r)
		return booleanOf((v.kind != absent && matches(v.String())) != negated)
	}, nil
}

// among reads the list after in.
func (p *parser) among(left func(*row) value, negated bool) (func(*row) value, error) {
	if err := p.want("["); err != nil {
		return nil, err
	}
	var list []func(*row) value
	for len(list) == 0 || p.symbol(",") {
		e, err := p.sum()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return func(r *row) value {
		v := left(r)
		return booleanOf(slices.ContainsFunc(list, func(e func(*row) value) bool { return equal(v, e(r)) }) != negated)
	}, p.want("]")
}

func (p *parser) sum() (func(*row) value, error) { return p.arithmetic("+-", p.product) }

func (p *parser) product() (func(*row) value, error) { return p.arithmetic("*/%", p.power) }

// power reads a^b, which associates to the right.
func (p *parser) power() (func(*row) value, error) {
	base, err := p.unary()
	if err != nil || !p.symbol("^") {
		return base, err
	}
	exponent, err := p.power()
	return calculated('^', base, exponent), err
}

// arithmetic reads operands with operators between them, from left to right.
func (p *parser) arithmetic(operators string, operand func() (func(*row) value, error)) (func(*row) value, error) {
	left, err := operand()
	for err == nil {
		p.blanks()
		if p.pos == len(p.text) || strings.IndexByte(operators, p.text[p.pos]) < 0 {
			return left, nil
		}
		op := p.text[p.pos]
		p.pos++
		var right func(*row) value
		right, err = operand()
		left = calculated(op, left, right)
	}
	return nil, err
}

// calculated returns an arithmetic operation. It has no value unless both sides are numbers.
func calculated(op byte, left, right func(*row) value) func(*row) value {
	return func(r *row) value {
		a, okA := left(r).numeric()
		b, okB := right(r).numeric()
		if !okA || !okB {
			return value{}
		}
		switch op {
		case '+':
			return numberOf(a + b)
		case '-':
			return numberOf(a - b)
		case '*':
			return numberOf(a * b)
		case '/':
			return numberOf(a / b)
		case '%':
			return numberOf(math.Mod(a, b))
		}
		return numberOf(math.Pow(a, b))
	}
}

func (p *parser) unary() (func(*row) value, error) {
	if !p.symbol("-") {
		return p.primary()
	}
	of, err := p.unary()
	return calculated('-', func(*row) value { return numberOf(0) }, of), err
}

// primary reads a literal, a field, a call or an expression in parentheses.
func (p *parser) primary() (func(*row) value, error) {
	if p.symbol("(") {
		e, err := p.either()
		if err != nil {
			return nil, err
		}
		return e, p.want(")")
	}
	if s, ok, err := p.quoted(); ok || err != nil {
		v := textOf(s)
		return func(*row) value { return v }, err
	}
	word := p.peekWord()
	if e := p.column(); e != nil {
		return e, nil
	}
	if f, ok := parseNumber(word); ok {
		p.pos += len(word)
		v := value{kind: number, number: f}
		if _, err := strconv.ParseInt(word, 10, 64); err == nil {
			v.text = word
		}
		return func(*row) value { return v }, nil
	}
	start := p.pos
	quotes := strings.HasPrefix(p.text[start:], "`")
	name, err := p.name()
	switch {
	case err != nil:
		return nil, err
	case name == "":
		return nil, p.unexpected()
	case !quotes && p.symbol("("):
		return p.call(name, start)
	case !quotes && (strings.EqualFold(name, "true") || strings.EqualFold(name, "false")):
		v := booleanOf(strings.EqualFold(name, "true"))
		return func(*row) value { return v }, nil
	}
	return p.reference(name), nil
}

// alias reads "as NAME", if it comes next, and returns the name; else the source of the expression.
func (p *parser) alias(e expression) (name string, err error) {
	if !p.keyword("as") {
		return e.source, nil
	}
	name, err = p.name()
	if err == nil && name == "" {
		err = p.unexpected()
	}
	return name, err
}

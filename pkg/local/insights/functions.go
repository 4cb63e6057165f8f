package insights

import (
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// function is a function of the language, with its smallest and largest number of arguments.
type function struct {
	least, most int
	// partial functions have a value although an argument has none.
	partial bool
	call    func(args []value) value
}

const many = math.MaxInt

// functions are the functions (user guide, "Boolean, comparison, numeric, datetime, and other functions").
var functions = map[string]function{
	"abs":   {1, 1, false, calculation(math.Abs)},
	"ceil":  {1, 1, false, calculation(math.Ceil)},
	"floor": {1, 1, false, calculation(math.Floor)},
	"log":   {1, 1, false, calculation(math.Log)},
	"sqrt":  {1, 1, false, calculation(math.Sqrt)},
	"greatest": {1, many, false, func(args []value) value {
		return selected(args, func(a, b float64) bool { return a > b })
	}},
	"least": {1, many, false, func(args []value) value {
		return selected(args, func(a, b float64) bool { return a < b })
	}},

	"ispresent": {1, 1, true, func(args []value) value { return booleanOf(args[0].kind != absent) }},
	"isempty":   {1, 1, true, func(args []value) value { return booleanOf(args[0].String() == "") }},
	"isblank":   {1, 1, true, func(args []value) value { return booleanOf(strings.TrimSpace(args[0].String()) == "") }},
	"coalesce": {1, many, true, func(args []value) value {
		for _, a := range args {
			if a.kind != absent {
				return a
			}
		}
		return value{}
	}},

	"concat": {1, many, false, func(args []value) value {
		var b strings.Builder
		for _, a := range args {
			b.WriteString(a.String())
		}
		return textOf(b.String())
	}},
	"strlen": {1, 1, false,
		func(args []value) value { return numberOf(float64(utf8.RuneCountInString(args[0].String()))) }},
	"toupper": {1, 1, false, func(args []value) value { return textOf(strings.ToUpper(args[0].String())) }},
	"tolower": {1, 1, false, func(args []value) value { return textOf(strings.ToLower(args[0].String())) }},
	"trim":    {1, 2, false, trimmed(strings.TrimSpace, strings.Trim)},
	"ltrim": {1, 2, false, trimmed(func(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) },
		strings.TrimLeft)},
	"rtrim": {1, 2, false, trimmed(func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) },
		strings.TrimRight)},
	"substr": {2, 3, false, substring},
	"replace": {3, 3, false, func(args []value) value {
		return textOf(strings.ReplaceAll(args[0].String(), args[1].String(), args[2].String()))
	}},
	"strcontains": {2, 2, false,
		func(args []value) value { return booleanOf(strings.Contains(args[0].String(), args[1].String())) }},

	"tomillis": {1, 1, false, func(args []value) value {
		if args[0].kind != moment {
			return value{}
		}
		return numberOf(args[0].number)
	}},
	"frommillis": {1, 1, false, func(args []value) value {
		if f, ok := args[0].numeric(); ok && math.Abs(f) < 1<<52 {
			return momentOf(math.Trunc(f))
		}
		return value{}
	}},
}

// calculation returns a function of one number.
func calculation(f func(float64) float64) func([]value) value {
	return func(args []value) value {
		if n, ok := args[0].numeric(); ok {
			return numberOf(f(n))
		}
		return value{}
	}
}

// selected returns the number that is before all others. It has no value if one argument is not a number.
func selected(args []value, before func(a, b float64) bool) value {
	best, _ := args[0].numeric()
	for _, a := range args {
		n, ok := a.numeric()
		if !ok {
			return value{}
		}
		if before(n, best) {
			best = n
		}
	}
	return numberOf(best)
}

// trimmed returns a function that removes white space, or the characters of its second argument.
func trimmed(blanks func(string) string, cut func(s, set string) string) func([]value) value {
	return func(args []value) value {
		if len(args) == 1 {
			return textOf(blanks(args[0].String()))
		}
		return textOf(cut(args[0].String(), args[1].String()))
	}
}

// substring is substr(text, start) and substr(text, start, length), in characters from 0.
func substring(args []value) value {
	s := []rune(args[0].String())
	from, ok := args[1].numeric()
	if !ok || from < 0 {
		return value{}
	}
	s = s[int(min(from, float64(len(s)))):]
	if len(args) == 3 {
		n, ok := args[2].numeric()
		if !ok || n < 0 {
			return value{}
		}
		s = s[:int(min(n, float64(len(s))))]
	}
	return textOf(string(s))
}

// periods are the units of a period. Longer ones depend on the calendar.
var periods = map[string]time.Duration{
	"ms": time.Millisecond, "msec": time.Millisecond, "millisecond": time.Millisecond, "s": time.Second,
	"sec":    time.Second,
	"second": time.Second, "m": time.Minute, "min": time.Minute, "minute": time.Minute, "h": time.Hour, "hr": time.Hour,
	"hour": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour,
}

// call reads the arguments of a function, whose parenthesis has been read.
func (p *parser) call(name string, start int) (func(*row) value, error) {
	lower := strings.ToLower(name)
	switch lower {
	case "bin", "datefloor", "dateceil":
		return p.period(lower)
	case "now":
		return func(r *row) value { return numberOf(float64(r.now / 1000)) }, p.want(")")
	}
	if _, ok := aggregateFunctions[lower]; ok {
		return p.aggregate(lower, start)
	}
	f, ok := functions[lower]
	if !ok {
		return nil, p.failAt(start, start+len(name), "the local engine does not implement the function %s", name)
	}
	var args []func(*row) value
	for len(args) == 0 || p.symbol(",") {
		a, err := p.either()
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	if err := p.want(")"); err != nil {
		return nil, err
	}
	if len(args) < f.least || len(args) > f.most {
		return nil, p.failAt(start, p.pos, "invalid number of arguments for the function %s: %d", name, len(args))
	}
	return func(r *row) value {
		values := make([]value, len(args))
		for i, a := range args {
			if values[i] = a(r); values[i].kind == absent && !f.partial {
				return value{}
			}
		}
		return f.call(values)
	}, nil
}

// period reads the arguments of a function that rounds times.
func (p *parser) period(function string) (func(*row) value, error) {
	at := p.reference(fieldTimestamp)
	if function != "bin" {
		var err error
		if at, err = p.either(); err != nil {
			return nil, err
		}
		if err := p.want(","); err != nil {
			return nil, err
		}
	}
	word := p.peekWord()
	n := digits(word)
	unit := strings.ToLower(word[n:])
	length, ok := periods[unit]
	if !ok && len(unit) > 2 {
		length, ok = periods[strings.TrimSuffix(unit, "s")]
	}
	count, isNumber := parseNumber(word[:n])
	switch {
	case n == 0 || unit == "" || !isNumber:
		return nil, p.unexpected()
	case !ok:
		return nil, p.failAt(p.pos, p.pos+len(word),
			"the local engine does not implement the period %s; it has ms, s, m, h and d", word)
	case count < 1 || count > 1e6:
		return nil, p.failAt(p.pos, p.pos+len(word), "the period %s is out of range", word)
	}
	p.pos += len(word)
	width := count * float64(length.Milliseconds())
	return func(r *row) value {
		v := at(r)
		if v.kind != moment {
			return value{}
		}
		if function == "dateceil" {
			return momentOf(math.Ceil(v.number/width) * width)
		}
		return momentOf(math.Floor(v.number/width) * width)
	}, p.want(")")
}

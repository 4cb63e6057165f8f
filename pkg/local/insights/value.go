package insights

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is the type of a value.
type kind uint8

const (
	absent kind = iota // the event does not have the field
	text
	number
	boolean
	moment // epoch milliseconds
)

// value is the value of a field or an expression.
type value struct {
	kind kind
	// text is the text, or the digits of a number as its message has them.
	text string
	// number is the number; 1 or 0 for a boolean.
	number float64
}

func textOf(s string) value { return value{kind: text, text: s} }

func numberOf(f float64) value {
	if math.IsNaN(f) || math.IsInf(f, 0) { // division by zero, logarithm of a negative number
		return value{}
	}
	return value{kind: number, number: f}
}

func booleanOf(b bool) value {
	if b {
		return value{kind: boolean, number: 1}
	}
	return value{kind: boolean}
}

func momentOf(ms float64) value { return value{kind: moment, number: ms} }

// String returns the value as results show it. Booleans are 1 and 0, as in CloudWatch.
func (v value) String() string {
	switch {
	case v.kind == moment:
		return formatTime(int64(v.number))
	case v.kind == absent || v.text != "" || v.kind == text:
		return v.text
	case math.Abs(v.number) >= 1e21:
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	}
	return strconv.FormatFloat(v.number, 'f', -1, 64)
}

// numeric returns the value as a number, if it is one or is a text with a number alone.
func (v value) numeric() (float64, bool) {
	switch v.kind {
	case absent:
		return 0, false
	case text:
		return parseNumber(v.text)
	}
	return v.number, true
}

// parseNumber reads a decimal number. It accepts neither blanks nor the names and prefixes that strconv knows.
func parseNumber(s string) (float64, bool) {
	if s == "" || len(s) > 64 {
		return 0, false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// truth reports whether a condition holds.
func (v value) truth() bool { return v.kind != absent && v.kind != text && v.number != 0 }

// equal compares two values with =. A text equals a number that it is the text of.
func equal(a, b value) bool {
	if a.kind == absent || b.kind == absent {
		return false
	}
	if a.kind == text && b.kind == text {
		return a.text == b.text
	}
	if a.kind == boolean && b.kind == text || a.kind == text && b.kind == boolean {
		if word := a.text + b.text; strings.EqualFold(word, "true") || strings.EqualFold(word, "false") {
			return strings.EqualFold(word, "true") == (a.number+b.number != 0)
		}
	}
	c, ok := compareNumbers(a, b)
	return ok && c == 0
}

// compare compares two values with <; ok is false if one of them is absent.
func compare(a, b value) (c int, ok bool) {
	if a.kind == absent || b.kind == absent {
		return 0, false
	}
	if c, ok := compareNumbers(a, b); ok {
		return c, true
	}
	return strings.Compare(a.String(), b.String()), true
}

// compareNumbers compares two numbers; ok is false if one of them is not a number.
func compareNumbers(a, b value) (c int, ok bool) {
	x, isX := a.numeric()
	y, isY := b.numeric()
	if !isX || !isY {
		return 0, false
	}
	if math.Abs(x) >= 1<<53 && x == y { // ids with many digits differ although their floating-point numbers do not
		m, errM := strconv.ParseInt(a.text, 10, 64)
		n, errN := strconv.ParseInt(b.text, 10, 64)
		if errM == nil && errN == nil {
			return cmp.Compare(m, n), true
		}
	}
	return cmp.Compare(x, y), true
}

// natural is the order of the sort command (user guide, "sort"): other values come before numbers. In them, digits that
// follow each other are compared by their count and then by their value, and everything else by its code point.
func natural(a, b value) int {
	if a.kind == absent || b.kind == absent {
		return cmp.Compare(min(a.kind, 1), min(b.kind, 1))
	}
	_, isA := a.numeric()
	_, isB := b.numeric()
	switch {
	case isA && isB:
		c, _ := compareNumbers(a, b)
		if c == 0 && a.kind == text && b.kind == text {
			c = strings.Compare(a.text, b.text) // 01 is before 1
		}
		return c
	case isA:
		return 1
	case isB:
		return -1
	}
	return naturalText(a.String(), b.String())
}

func naturalText(a, b string) int {
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m > 0 && n > 0 {
			if c := cmp.Or(cmp.Compare(m, n), strings.Compare(a[:m], b[:n])); c != 0 {
				return c
			}
			a, b = a[m:], b[n:]
			continue
		}
		x, sizeX := utf8.DecodeRuneInString(a)
		y, sizeY := utf8.DecodeRuneInString(b)
		if x != y {
			return cmp.Compare(x, y)
		}
		a, b = a[sizeX:], b[sizeY:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns the number of digits at the start of a text.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

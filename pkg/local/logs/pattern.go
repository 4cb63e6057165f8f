package logs

import (
	"errors"
	"slices"
	"strings"
)

// Pattern is a filter pattern for unstructured log events: terms and "quoted phrases" that must
// all occur, -terms that must not occur, and ?terms of which at least one must occur.
type Pattern struct{ all, any, not []string }

// Matches reports whether the pattern matches an event.
func (p Pattern) Matches(text string) bool {
	has := func(term string) bool { return strings.Contains(text, term) }
	for _, term := range p.all {
		if !has(term) {
			return false
		}
	}
	return !slices.ContainsFunc(p.not, has) && (len(p.any) == 0 || slices.ContainsFunc(p.any, has))
}

// ParsePattern parses a filter pattern. The error names the part that this engine does not
// support.
func ParsePattern(text string) (Pattern, error) {
	var p Pattern
	rest := strings.TrimSpace(text)
	if strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "%") {
		return p, errors.New("the local engine supports terms and quoted phrases, with - or ? before them; it does not support JSON, columns or regular expressions")
	}
	for rest != "" {
		list := &p.all
		switch rest[0] {
		case '-':
			list, rest = &p.not, rest[1:]
		case '?':
			list, rest = &p.any, rest[1:]
		}
		var term string
		if strings.HasPrefix(rest, `"`) {
			var ok bool
			if term, rest, ok = strings.Cut(rest[1:], `"`); !ok {
				return p, errors.New("a quoted phrase does not end")
			}
		} else {
			term, rest, _ = strings.Cut(rest, " ")
		}
		if term != "" {
			*list = append(*list, term)
		}
		rest = strings.TrimLeft(rest, " ")
	}
	return p, nil
}

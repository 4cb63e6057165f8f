package lint

import (
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// quote quotes a text as in the file and cuts a long one.
func quote(s string) string { return diag.Quote(s) }

// quoteAll quotes each text of a list.
func quoteAll(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, quote(s))
	}
	return out
}

// near returns the known value that is most similar to a value, or "". nearIn is near for
// a sequence.
func near(value string, known []string) string { return nearIn(value, slices.Values(known)) }

func nearIn(value string, known iter.Seq[string]) string { return diag.Near(value, known) }

// pattern is a regular expression that is compiled on first use: the rules have
// dozens, and most runs need few.
type pattern func() *regexp.Regexp

// lazy returns the pattern of an expression, which must be valid.
func lazy(expression string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// typo returns the name of which another name is a typo, or "". Related names differ by a
// word or a number, and a resource that no file creates may exist already. So gpu is not a
// typo of cpu, nor train-2 of train-1.
func typo(name string, names iter.Seq[string]) string {
	near := nearIn(name, names)
	if near == "" || !isSlip(name, near) {
		return ""
	}
	return near
}

// isSlip reports whether two names differ only in case and separators, or in one word:
// by the order of its letters, or, if it has five letters or more, by one letter after
// the first.
func isSlip(a, b string) bool {
	if joined(a) == joined(b) {
		return true
	}
	as, bs := nameWords(a), nameWords(b)
	differ := 0
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			differ++
			a, b = as[i], bs[i]
		}
	}
	if len(as) != len(bs) || differ != 1 || strings.ContainsAny(a+b, "0123456789") {
		return false
	}
	return lettersOf(a) == lettersOf(b) || min(len(a), len(b)) >= 5 && a[0] == b[0] && diag.Typos(a, b) == 1
}

// nameWords returns the words of a name in lower case.
func nameWords(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' })
}

// joined returns a name in lower case without separators.
func joined(name string) string { return strings.Join(nameWords(name), "") }

// lettersOf returns the letters of a text in alphabetical order.
func lettersOf(text string) string {
	letters := []byte(text)
	slices.Sort(letters)
	return string(letters)
}

// writeHint is the hint to write a value; "" if no value is known.
func writeHint(value string) string {
	if value == "" {
		return ""
	}
	return "write " + quote(value)
}

// contains reports whether a list has a string.
func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// nameCharset describes, for messages, what nameRune accepts.
const nameCharset = "letters, digits, hyphens and underscores"

// nameRune reports whether names of AWS Batch can contain a character.
func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

// mapName replaces each character that a name cannot contain by a hyphen.
func mapName(s string) string {
	return strings.Map(func(r rune) rune {
		if nameRune(r) {
			return r
		}
		return '-'
	}, s)
}

// nearHint suggests a similar known name, or the removal.
func nearHint(name string, known iter.Seq[string]) string {
	if near := nearIn(name, known); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	return "remove it"
}

// lowered returns a name in lower case with hyphens for characters that Kubernetes
// does not accept.
func lowered(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			return r
		}
		return '-'
	}, strings.ToLower(s))
	return strings.Trim(s, "-.")
}

// lowerHint suggests a name in lower case; "" if the name is in lower case already.
func lowerHint(s string) string {
	if l := lowered(s); l != "" && l != s {
		return "write " + quote(l)
	}
	return ""
}

// isWhole reports whether a text is only digits.
func isWhole(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// isDecimal reports whether a text is digits, with or without a fraction.
func isDecimal(text string) bool {
	whole, fraction, found := strings.Cut(text, ".")
	return isWhole(whole) && (!found || isWhole(fraction))
}

// sorted sorts a list, which it changes, and returns it.
func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// orDots returns the example of a member's value, or dots.
func orDots(example string) string {
	if example == "" {
		return `"..."`
	}
	return example
}

// decimal formats a number without an exponent, with as few digits as possible.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// isPlaceholder reports whether another program or a person completes a value: a placeholder of
// package jsontree, or a text with a variable or a template in it.
func isPlaceholder(text string) bool {
	start, _ := jsontree.FindPlaceholder(text)
	return start >= 0 || strings.HasPrefix(text, "$") || strings.Contains(text, "${") || strings.Contains(text, "{{")
}

// nearName suggests a similar container, or lists the containers.
func nearName(container string, known map[string]bool) string {
	var names []string
	for name := range known {
		if name != "" {
			names = append(names, quote(name))
		}
	}
	if hint := nearHint(container, maps.Keys(known)); hint != "remove it" {
		return hint
	}
	return "the containers are " + text.Or(sorted(names))
}

var (
	// The forms of names in Kubernetes: DNS labels and subdomains (RFC 1123), and the name
	// part of label keys.
	dnsLabel     = lazy(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	dnsSubdomain = lazy(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	keyName      = lazy(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
)

package jsontree

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/diag"
)

// scalars counts the values of a document that have content, each in a canonical spelling.
// Null and "" have none.
func scalars(root *Node) map[string]int {
	counts := map[string]int{}
	var visit func(n *Node)
	visit = func(n *Node) {
		switch n.Kind {
		case Bool, Number, String:
			if value := spelling(n.Text); value != "" {
				counts[value]++
			}
		}
		for c := range n.Children() {
			visit(c)
		}
	}
	if root != nil {
		visit(root)
	}
	return counts
}

// loses reports whether one of the counted scalars is missing from the document.
func loses(counted map[string]int, root *Node) bool {
	after := scalars(root)
	for word, n := range counted {
		if after[word] < n {
			return true
		}
	}
	return false
}

// Same reports whether two texts spell the same value: 512 and "512", "Container" and
// "container", "2 GiB" and 2048, "my job" and "my-job".
func Same(a, b string) bool { return spelling(a) == spelling(b) }

// spelling returns the canonical spelling of a value: the number, or the letters and
// digits, or else the text itself.
func spelling(s string) string {
	if n, ok := quantity(s); ok {
		return "#" + n
	}
	if letters := fold(s); letters != "" {
		return letters
	}
	return s
}

// fold returns the letters and digits of a text in lower case.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// amount matches a number with an optional unit.
var amount = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([+-]?[0-9]{0,15}\.?[0-9]{0,15}) ?([a-zA-Z]{0,3})$`)
})

// sizes holds the units of memory, in MiB.
var sizes = map[string]*big.Rat{
	"": big.NewRat(1, 1), "k": big.NewRat(1000, 1<<20), "m": big.NewRat(1, 1000), "M": big.NewRat(1000_000, 1<<20),
	"G":  big.NewRat(1000_000_000, 1<<20),
	"Ki": big.NewRat(1, 1<<10), "Mi": big.NewRat(1, 1), "Gi": big.NewRat(1<<10, 1), "Ti": big.NewRat(1<<20, 1),
	"KiB": big.NewRat(1, 1<<10), "MiB": big.NewRat(1, 1), "GiB": big.NewRat(1<<10, 1), "TiB": big.NewRat(1<<20, 1),
}

// quantity returns the number in a text: in MiB for a size, and in cores for thousandths
// of a core.
func quantity(s string) (string, bool) {
	if len(s) > 34 || s == "" || s[0] > '9' {
		return "", false
	}
	if i, err := strconv.ParseUint(s, 0, 64); err == nil && len(s) > 2 && s[0] == '0' && s[1] > '9' {
		return strconv.FormatUint(i, 10), true // 0x10
	}
	m := amount().FindStringSubmatch(s)
	if m == nil {
		return "", false
	}
	unit := sizes[m[2]]
	n, ok := new(big.Rat).SetString(m[1])
	if !ok || unit == nil {
		return "", false
	}
	return n.Mul(n, unit).RatString(), true
}

// keepsLetters reports whether a fix changes only punctuation, quotes and the spelling of
// constants and numbers.
func keepsLetters(src *diag.Source, d diag.Diagnostic) bool {
	for _, e := range d.Fix.Edits {
		if e.Span.Start < 0 || e.Span.End > len(src.Text) || e.Span.Start > e.Span.End {
			return false
		}
		old, now := src.Text[e.Span.Start:e.Span.End], e.Text
		if text, err := strconv.Unquote(now); err == nil && fold(text) == fold(old) {
			continue // escapes have letters of their own
		}
		switch {
		case Same(old, now) || fold(old) == fold(now):
		case foreignWords[old] == now:
		default:
			return false
		}
	}
	return true
}

var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$|\{\{|\{%|<|\[[A-Za-z_][A-Za-z0-9_ -]*\]|\{[A-Za-z_][A-Za-z0-9_.]*\}|%[A-Za-z_]+%|@[A-Za-z_]+@|__[A-Za-z]+__`)
})

// IsPlaceholder reports whether a text has a part that another program replaces before AWS
// Batch reads it: ${STAGE}, {{ image }}, <subnet-id>, [A RANDOM NAME].
func IsPlaceholder(text string) bool { return placeholder().MatchString(text) }

// unrendered reports whether a slip is in text that a template engine replaces. Such a
// file becomes JSON only afterwards, and needs no edit.
func unrendered(src *diag.Source, found diag.List) bool {
	text, last := withoutComments(src.Text, found), -1
	for _, d := range found {
		if d.Rule == RulePlaceholder {
			return true
		}
		if d.Rule != RuleSyntax || IsComment(d) {
			continue
		}
		start := strings.LastIndexByte(text[:min(d.Span.Start, len(text))], '\n') + 1
		end := len(text)
		if i := strings.IndexByte(text[min(d.Span.End, end):], '\n'); i >= 0 {
			end = d.Span.End + i
		}
		// Many slips can be on one long line.
		if end != last && IsPlaceholder(strip(text[start:end])) {
			return true
		}
		last = end
	}
	return false
}

// withoutComments returns a text with blanks in place of its comments, in which a "<" means nothing.
func withoutComments(text string, found diag.List) string {
	for _, d := range found {
		if IsComment(d) {
			text = text[:d.Span.Start] + strings.Repeat(" ", d.Span.End-d.Span.Start) + text[d.Span.End:]
		}
	}
	return text
}

// IsComment reports whether a problem is a comment. A comment leaves no doubt about the rest of the text, and no fix
// removes it.
func IsComment(d diag.Diagnostic) bool { return d.Rule == RuleSyntax && d.Message == noComments }

// TouchesComment reports whether a fix would change one of the comments in a list of problems, or write into one.
func TouchesComment(found diag.List, fix *diag.Fix) bool {
	return slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
		return IsComment(d) && slices.ContainsFunc(fix.Edits, func(e diag.Edit) bool {
			return e.Span.End > d.Span.Start && e.Span.Start <= d.Span.End
		})
	})
}

// settled returns the list with a class for each fix of a slip that Repair does not apply, so that no problem promises
// a fix that does not come.
func settled(src *diag.Source, list diag.List) diag.List {
	if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Fix != nil }) {
		return list
	}
	isTemplate := unrendered(src, list)
	for i, d := range list {
		switch {
		case d.Fix == nil:
		case isTemplate:
			list[i].Fix.Class = diag.Choice
			list[i].Hint += "; --fix does not edit a template"
		case !keepsLetters(src, d):
			list[i].Fix.Class = diag.Loss
		}
	}
	return list
}

var (
	// closedString matches a string of JSON, and one in the other quotes that foreignString reads.
	closedString = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|` + "`[^`\n]*`" +
			`|[“„‟][^”"\n]*[”"]|[‘‚‛][^’\n]*’`)
	})
	capitals = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[A-Z_]+( [A-Z_]+)+\]`) })
)

// brackets are what strip removes from a text without placeholders in brackets.
var brackets = strings.NewReplacer("[", " ", "]", " ")

// strip removes strings, whose placeholders are valid, and lists of bare words.
func strip(text string) string {
	text = closedString().ReplaceAllString(text, "")
	if capitals().MatchString(text) {
		return text
	}
	return brackets.Replace(text)
}

// touchesPlaceholder reports whether an edit changes a name or a value that has a
// placeholder.
func touchesPlaceholder(root *Node, d diag.Diagnostic) bool {
	for _, e := range d.Fix.Edits {
		if e.Span.Start < e.Span.End && placeholderIn(root, e.Span) {
			return true
		}
	}
	return false
}

// placeholderIn reports whether an edit overlaps with a name or a string that has a
// placeholder.
func placeholderIn(n *Node, edit diag.Span) bool {
	if n == nil {
		return false
	}
	overlaps := func(s diag.Span) bool { return s.Start < edit.End && edit.Start < s.End }
	if overlaps(n.Key) && IsPlaceholder(n.Name) {
		return true
	}
	if !overlaps(n.Span) {
		return false
	}
	if n.Kind == String && IsPlaceholder(n.Text) {
		return true
	}
	for c := range n.Children() {
		if placeholderIn(c, edit) {
			return true
		}
	}
	return false
}

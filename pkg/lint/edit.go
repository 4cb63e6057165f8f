package lint

import (
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// replace returns the fix that replaces a string or number by another value, with or
// without quotes as before. It returns nil if the text is not the value itself, such as
// "2 GiB" for 2048 in the compact form.
func replace(n *jsontree.Node, value string) *diag.Fix {
	src, span := n.Location()
	if src == nil || span.End > len(src.Text) {
		return nil
	}
	switch src.Text[span.Start:span.End] {
	case strconv.Quote(n.Text):
		value = strconv.Quote(value)
	case n.Text:
	default:
		return nil
	}
	return replacement(n, value)
}

// replacement returns the fix that writes another value. It is a loss unless that is the
// same value in another spelling.
func replacement(n *jsontree.Node, value string) *diag.Fix {
	_, span := n.Location()
	fix := &diag.Fix{Message: "write " + value, Edits: []diag.Edit{{Span: span, Text: value}}}
	if hasContent(n) && !jsontree.Same(n.Text, strings.Trim(value, `"`)) {
		fix.Class = diag.Loss
	}
	return fix
}

// hasContent reports whether a node contains a scalar that is neither null nor "", which
// its removal would lose.
func hasContent(n *jsontree.Node) bool {
	if n.Is(jsontree.Bool) || n.Is(jsontree.Number) || n.Str() != "" {
		return true
	}
	for c := range n.Children() {
		if hasContent(c) {
			return true
		}
	}
	return false
}

// removal returns the text to cut so that the rest still parses: the member, with the
// comma and white space before its successor, or else after its predecessor.
func removal(n *jsontree.Node) (diag.Span, bool) {
	src, span := n.Location()
	if src == nil {
		return span, false
	}
	if n.Key.End > n.Key.Start {
		// The compact form may write the member under another name. Its removal could also
		// remove other members of the request.
		if n.Name != "" && src.Text[n.Key.Start:n.Key.End] != strconv.Quote(n.Name) {
			return span, false
		}
		span.Start = n.Key.Start
	}
	text := src.Text
	if span.End > len(text) || span.Start >= span.End {
		return span, false
	}
	if end := skipBlanks(text, span.End); end < len(text) && text[end] == ',' {
		span.End = skipBlanks(text, end+1)
		return span, true
	}
	before := strings.TrimRight(text[:span.Start], blanks)
	if strings.HasSuffix(before, ",") {
		span.Start = len(strings.TrimRight(before[:len(before)-1], blanks))
	}
	return span, true
}

// blanks is the white space of JSON (RFC 8259, section 2).
const blanks = " \t\r\n"

// skipBlanks returns the index of the first character from i that is not white space.
func skipBlanks(text string, i int) int {
	for i < len(text) && strings.IndexByte(blanks, text[i]) >= 0 {
		i++
	}
	return i
}

// indentOf returns the white space before the last child: a line break and its indent, or
// one space if everything is on one line.
func indentOf(text string, n *jsontree.Node) string {
	var last *jsontree.Node
	for c := range n.Children() {
		last = c
	}
	if last == nil {
		return " "
	}
	start := last.Span.Start
	if last.Key.End > last.Key.Start {
		start = last.Key.Start
	}
	if start > len(text) {
		return " "
	}
	before := text[:start]
	if white := before[len(strings.TrimRight(before, blanks)):]; white != "" {
		return white
	}
	return " "
}

// rewrite returns the fix that replaces a value by JSON text.
func rewrite(n *jsontree.Node, text string) *diag.Fix {
	if src, _ := n.Location(); src == nil {
		return nil
	}
	return replacement(n, text)
}

// unquote returns the fix for a whole number in quotes.
func unquote(n *jsontree.Node) *diag.Fix {
	// A number of more than 15 digits may lose precision as a float64, and JSON does not
	// allow leading zeros.
	if !isWhole(n.Str()) || len(n.Text) > 15 || len(n.Text) > 1 && n.Text[0] == '0' {
		return nil
	}
	return rewrite(n, n.Text)
}

// rename returns the fix that renames a member.
func rename(n *jsontree.Node, name string) *diag.Fix {
	if n.Source == nil || n.Key.Start == n.Key.End {
		return nil
	}
	text := strconv.Quote(name)
	return &diag.Fix{Message: "write " + text, Edits: []diag.Edit{{Span: n.Key, Text: text}}}
}

// fixIf is replace if the condition holds.
func fixIf(ok bool, n *jsontree.Node, value string) *diag.Fix {
	if !ok {
		return nil
	}
	return replace(n, value)
}

// lowerFix returns the fix that writes a name in lower case; nil if the result would still
// not match the pattern.
func lowerFix(n *jsontree.Node, p pattern) *diag.Fix {
	return fixIf(p().MatchString(lowered(n.Text)), n, lowered(n.Text))
}

// disjoint returns the fix unless two of its edits touch the same text.
func disjoint(f *diag.Fix) *diag.Fix {
	for i, a := range f.Edits {
		for _, b := range f.Edits[i+1:] {
			if a.Span.Start < b.Span.End && b.Span.Start < a.Span.End {
				return nil
			}
		}
	}
	return f
}

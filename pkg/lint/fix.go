package lint

import (
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// replace is the fix that writes another value in place of a string or number.
// It keeps the quotes or their absence. It is nil where the text is not the
// value itself, as where the compact form writes "2 GiB" for 2048.
func replace(n *jsontree.Node, value string) *diag.Fix {
	src, span := n.Place()
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

// replacement is the fix that writes another value. It is a loss unless that is the
// same value in another spelling.
func replacement(n *jsontree.Node, value string) *diag.Fix {
	_, span := n.Place()
	fix := &diag.Fix{Message: "write " + value, Edits: []diag.Edit{{Span: span, Text: value}}}
	if hasContent(n) && !jsontree.Same(n.Text, strings.Trim(value, `"`)) {
		fix.Class = diag.Loss
	}
	return fix
}

// hasContent reports whether the removal of a node loses something: a scalar that is
// neither null nor "".
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

// classified returns the fix with the class that follows from the severity and from
// the hint, unless it has one of its own. AWS Batch accepts what a rule only warns of,
// so its fix changes what a job does. A hint that names two ways leaves a choice.
func classified(fix *diag.Fix, severity diag.Severity, keepsMeaning bool, hint string) *diag.Fix {
	switch {
	case fix == nil || fix.Class != diag.Automatic:
	case severalWays().MatchString(outsideQuotes(hint)):
		fix.Class = diag.Choice
	case severity == diag.Warning && !keepsMeaning:
		fix.Class = diag.Behavior
	}
	return fix
}

var severalWays = lazy(`(?i)\b(or|either|one of|too|instead)\b`)

func outsideQuotes(hint string) string { return quoted().ReplaceAllString(hint, "") }

// editsPlaceholder reports whether a fix changes text that another program fills in.
func editsPlaceholder(src *diag.Source, fix *diag.Fix) bool {
	for _, e := range fix.Edits {
		if src == nil || e.Span.Start < 0 || e.Span.Start >= e.Span.End || e.Span.End > len(src.Text) {
			continue
		}
		if text := src.Text[e.Span.Start:e.Span.End]; jsontree.IsPlaceholder(constantLists.Replace(text)) {
			return true
		}
	}
	return false
}

var constantLists = strings.NewReplacer("[true]", "", "[false]", "", "[null]", "")

// remove is the fix that takes a member or an element out, with its comma. It is
// nil for what nobody wrote as it stands there.
func (s Site) remove(n *jsontree.Node) *diag.Fix {
	span, ok := removal(n)
	if !ok || s.compact() && n.Key.Start == n.Key.End {
		return nil
	}
	what := "it"
	if n.Name != "" {
		what = n.Name
	}
	fix := &diag.Fix{Message: "remove " + what, Edits: []diag.Edit{{Span: span}}}
	if hasContent(n) {
		fix.Class = diag.Loss
	}
	return fix
}

// removal is the text to cut so that what is left still parses: the member, and
// the comma and blanks before its successor, or else those after its
// predecessor.
func removal(n *jsontree.Node) (diag.Span, bool) {
	src, span := n.Place()
	if src == nil {
		return span, false
	}
	if n.Key.End > n.Key.Start {
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

const blanks = " \t\r\n"

func skipBlanks(text string, i int) int {
	for i < len(text) && strings.IndexByte(blanks, text[i]) >= 0 {
		i++
	}
	return i
}

// insert is the fix that adds a member or an element, given as JSON text, at the
// end of an object or array. It is nil where the user did not write that object.
func (s Site) insert(n *jsontree.Node, text string) *diag.Fix {
	src, span := n.Place()
	if src == nil || span.End > len(src.Text) || span.End-span.Start < 2 || s.compact() && span == s.Job.Node.Span {
		return nil
	}
	if brackets := src.Text[span.Start:span.Start+1] + src.Text[span.End-1:span.End]; brackets != "{}" && brackets != "[]" {
		return nil // also one that is never closed
	}
	if name, _, ok := strings.Cut(strings.TrimPrefix(text, `"`), `"`); ok && n.Is(jsontree.Object) && !s.lacks(n, name) {
		return nil // it is there, and of a wrong type
	}
	end := len(strings.TrimRight(src.Text[:span.End-1], blanks))
	last := src.Text[end-1]
	if end-1 > span.Start {
		if last == ',' {
			return nil // a slip, which has a report of its own
		}
		text = "," + indentOf(src.Text, n) + text
	}
	return &diag.Fix{Message: "add " + strings.TrimLeft(text, ","+blanks), Edits: []diag.Edit{{Span: diag.Span{Start: end, End: end}, Text: text}}}
}

// indentOf is the white space before the last child: a line's break and indent,
// or one blank where all stands on one line.
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

// rewrite is the fix that puts JSON text in place of a value.
func rewrite(n *jsontree.Node, text string) *diag.Fix {
	if src, _ := n.Place(); src == nil {
		return nil
	}
	return replacement(n, text)
}

// unquote is the fix for a whole number that stands in quotes.
func unquote(n *jsontree.Node) *diag.Fix {
	if !isWhole(n.Str()) || len(n.Text) > 15 || len(n.Text) > 1 && n.Text[0] == '0' {
		return nil
	}
	return rewrite(n, n.Text)
}

// rename is the fix that writes another name for a member.
func rename(n *jsontree.Node, name string) *diag.Fix {
	if n.Source == nil || n.Key.Start == n.Key.End {
		return nil
	}
	text := strconv.Quote(name)
	return &diag.Fix{Message: "write " + text, Edits: []diag.Edit{{Span: n.Key, Text: text}}}
}

// fixIf is replace where there is a value to write.
func fixIf(ok bool, n *jsontree.Node, value string) *diag.Fix {
	if !ok {
		return nil
	}
	return replace(n, value)
}

func writeHint(value string) string {
	if value == "" {
		return ""
	}
	return "write " + quote(value)
}

package jsontree

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Edits of JSON text, and the fixes that hints spell out.

// Spell gives a problem the fix that its hint spells out, if it has none: "remove it" or "write VALUE", for the value
// or the member at its location. So a hint and its fix cannot differ. The root is that of the problem's text. A slip of
// syntax gets no fix here: the parser tried its own.
func Spell(root *Node, d *diag.Diagnostic) {
	if d.Fix != nil || d.Rule == RuleSyntax || d.Waived != nil || root == nil || d.Source == nil ||
		d.Source != root.Source {
		return
	}
	removes, writes := isEdit(d.Hint, "remove it"), strings.HasPrefix(d.Hint, "write ")
	if !removes && !writes {
		return
	}
	n := markedNode(root, d.Span)
	switch {
	case n == nil:
	case removes:
		d.Fix = RemovalFix(n)
	case d.Span.Start == n.Span.Start: // not the name of a member
		if value, ok := spelledValue(d.Hint); ok && !HasPlaceholder(d.Source.Text[n.Span.Start:n.Span.End]) {
			d.Fix = WriteFix(n, value)
		}
	}
	if d.Fix != nil && d.Severity == diag.Warning && d.Fix.Class == diag.Automatic {
		d.Fix.Class = diag.Behavior
	}
}

// TypoFix is WriteFix for a text that no program accepts, and the only similar one. The old text then says nothing that
// the new one does not say, unless it is short or its digits differ.
func TypoFix(n *Node, value string) *diag.Fix {
	fix, old := WriteFix(n, value), fold(n.Text)
	if similar := len(old) >= 5 || len(old) >= 3 && strings.Contains(fold(value), old); similar &&
		fix.Class == diag.Loss && n.Kind == String && digitsOf(old) == digitsOf(value) {
		fix.Class, fix.Respells = diag.Automatic, true
	}
	return fix
}

// digitsOf returns the digits of a text.
func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// RemovalFix returns the fix that removes a member or an element; nil for the root.
func RemovalFix(n *Node) *diag.Fix {
	span, ok := Removal(n)
	if !ok || n.Key.Start == n.Key.End && !isElement(n) || HasPlaceholder(n.Source.Text[n.Span.Start:n.Span.End]) {
		return nil
	}
	what := "it"
	if n.Name != "" {
		what = n.Name
	}
	fix := &diag.Fix{Message: "remove " + what, Edits: []diag.Edit{{Span: span}}}
	if HasContent(n) {
		fix.Class = diag.Loss
	}
	return fix
}

// WriteFix returns the fix that writes another value, given as JSON. It is a loss unless the value keeps what the user
// wrote: in another spelling, or with a unit.
func WriteFix(n *Node, value string) *diag.Fix {
	_, span := n.Location()
	fix := &diag.Fix{Message: "write " + value, Edits: []diag.Edit{{Span: span, Text: value}}}
	switch bare := strings.Trim(value, `"`); {
	case !HasContent(n) || Same(n.Text, bare) && n.Len() == 0:
	case n.Len() == 0 && keepsAmount(n.Text, bare):
		fix.Respells = true
	default:
		fix.Class = diag.Loss
	}
	return fix
}

// HasPlaceholder is IsPlaceholder for JSON text, in which lists of constants only look like placeholders.
func HasPlaceholder(text string) bool { return IsPlaceholder(constantLists.Replace(text)) }

var constantLists = strings.NewReplacer("[true]", "", "[false]", "", "[null]", "")

// keepsAmount reports whether a new text has the number of the old one, and a unit that has the letters of the old
// one: 4Gi and 4 GiB, 8 GB and 8 GiB, 3600 and 3600s. The first letter of a longer unit is enough: 1 hour and 1h.
func keepsAmount(old, now string) bool {
	old, now = fold(old), fold(now)
	number := len(old) - len(strings.TrimLeft(old, "0123456789"))
	if number > 0 && len(now) == number+1 && len(old) >= number+3 && strings.HasPrefix(old, now) {
		return true
	}
	if number == 0 || digitsOf(old) != digitsOf(now) || !strings.HasPrefix(now, old[:number]) || len(now) > number+3 {
		return false
	}
	at := number
	for _, c := range []byte(now[number:]) {
		if at < len(old) && old[at] == c {
			at++
		}
	}
	return at == len(old)
}

// isDigit reports whether a character is a digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Insertion returns the edit that adds a member or an element, given as JSON text, at the end of an object or array. It
// fails for one that is not in the text with its two brackets, or that ends with a comma.
func Insertion(n *Node, text string) (diag.Edit, bool) {
	src, span := n.Location()
	if src == nil || span.End > len(src.Text) || span.End-span.Start < 2 {
		return diag.Edit{}, false
	}
	if brackets := src.Text[span.Start:span.Start+1] + src.Text[span.End-1:span.End]; brackets != "{}" &&
		brackets != "[]" {
		return diag.Edit{}, false // also one that is never closed
	}
	end := len(strings.TrimRight(src.Text[:span.End-1], Blanks))
	if end-1 > span.Start {
		if src.Text[end-1] == ',' {
			return diag.Edit{}, false // a syntax error, which is reported separately
		}
		text = "," + indentOf(src.Text, n) + text
	}
	return diag.Edit{Span: diag.Span{Start: end, End: end}, Text: text}, true
}

// Move returns the fix that moves a member to another object under a name. Without a target, the object is a new
// member, named into, in the place of the moved one. Move returns nil if the object has the name already, or the text
// is not plain JSON.
func Move(member, target *Node, into, name string) *diag.Fix {
	src := member.Source
	if src == nil || member.Key.Start >= member.Key.End ||
		src.Text[member.Key.Start:member.Key.End] != strconv.Quote(member.Name) ||
		HasPlaceholder(src.Text[member.Span.Start:member.Span.End]) {
		return nil
	}
	text := strconv.Quote(name) + ": " + src.Text[member.Span.Start:member.Span.End]
	fix := &diag.Fix{}
	if target == nil {
		fix.Edits = []diag.Edit{{Span: diag.Span{Start: member.Key.Start, End: member.Span.End},
			Text: strconv.Quote(into) + ": { " + text + " }"}}
		return fix
	}
	cut, ok := Removal(member)
	added, fits := Insertion(target, text)
	if !ok || !fits || target.Kind != Object || target.Source != src || target.Get(name) != nil {
		return nil
	}
	fix.Edits = []diag.Edit{{Span: cut}, added}
	return fix
}

// isElement reports whether a node without a name is an element of an array in its text.
func isElement(n *Node) bool {
	text := n.Source.Text
	before := strings.TrimRight(text[:min(n.Span.Start, len(text))], Blanks)
	after := skipBlanks(text, n.Span.End)
	return before != "" && strings.ContainsRune("[,", rune(before[len(before)-1])) && after < len(text) &&
		strings.IndexByte("],", text[after]) >= 0
}

// isEdit reports whether a hint is an instruction, alone or with its reason.
func isEdit(hint, instruction string) bool {
	reason, found := strings.CutPrefix(hint, instruction)
	return found && (reason == "" || reason[0] == ':' || reason[0] == ';')
}

// spelledValue returns the JSON value of a hint "write VALUE" or "write VALUE: reason".
func spelledValue(hint string) (value string, ok bool) {
	text := strings.TrimPrefix(hint, "write ")
	decoder := json.NewDecoder(strings.NewReader(text))
	var v json.RawMessage
	if decoder.Decode(&v) != nil || strings.Contains(string(v), "...") || strings.Contains(string(v), "<") {
		return "", false
	}
	value = text[:decoder.InputOffset()]
	switch reason := text[len(value):]; {
	case !isEdit(text, value), strings.HasPrefix(reason, ": {"), strings.HasPrefix(reason, ": ["),
		strings.HasPrefix(reason, `: "`), strings.HasPrefix(reason, ": true"), strings.HasPrefix(reason, ": false"):
		return "", false
	case strings.HasPrefix(reason, ": ") && len(reason) > 2 && isDigit(reason[2]):
		return "", false
	}
	return strings.TrimSpace(value), true
}

// markedNode returns the node whose value, opening bracket or name a problem marks; nil for a part of a value.
func markedNode(n *Node, at diag.Span) *Node {
	for n != nil {
		switch {
		case n.Key == at && at.End > at.Start, n.Span == at:
			return n
		case n.Span.Start == at.Start && (n.Kind == Object || n.Kind == Array) && at.End <= n.Span.Start+1:
			return n
		}
		var next *Node
		for c := range n.Children() {
			if c.Source != n.Source {
				continue // from --set or another file
			}
			if c.Span.Start <= at.Start && at.Start < c.Span.End || c.Key.Start <= at.Start && at.Start < c.Key.End {
				next = c
				break
			}
		}
		n = next
	}
	return nil
}

// HasContent reports whether a node contains a scalar that is neither null nor "", which
// its removal would lose.
func HasContent(n *Node) bool {
	if n.Is(Bool) || n.Is(Number) || n.Str() != "" {
		return true
	}
	for c := range n.Children() {
		if HasContent(c) {
			return true
		}
	}
	return false
}

// Removal returns the text to cut so that the rest still parses: the member, with the
// comma and white space before its successor, or else after its predecessor.
func Removal(n *Node) (diag.Span, bool) {
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
	before := strings.TrimRight(text[:span.Start], Blanks)
	if strings.HasSuffix(before, ",") {
		span.Start = len(strings.TrimRight(before[:len(before)-1], Blanks))
	}
	return span, true
}

// Blanks is the white space of JSON (RFC 8259, section 2).
const Blanks = " \t\r\n"

// skipBlanks returns the index of the first character from i that is not white space.
func skipBlanks(text string, i int) int {
	for i < len(text) && strings.IndexByte(Blanks, text[i]) >= 0 {
		i++
	}
	return i
}

// indentOf returns the white space before the last child: a line break and its indent, or
// one space if everything is on one line.
func indentOf(text string, n *Node) string {
	var last *Node
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
	if white := before[len(strings.TrimRight(before, Blanks)):]; white != "" {
		return white
	}
	return " "
}

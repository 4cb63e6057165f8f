package lint

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// lacks reports whether nobody wrote the member: it is neither there nor was it
// left out when the file was read because its value is of the wrong type.
func (s Site) lacks(n *jsontree.Node, member string) bool {
	return n.Get(member) == nil && s.raw(n).Get(member) == nil
}

// raw is the object or array as it was written; nil for one that nobody wrote.
func (s Site) raw(n *jsontree.Node) *jsontree.Node {
	src, span := n.Place()
	for raw := s.File.Root; raw != nil && raw.Source == src; raw = childAt(raw, span.Start) {
		if raw.Span == span && (raw.Is(jsontree.Object) || raw.Is(jsontree.Array)) {
			return raw
		}
	}
	return nil
}

func childAt(n *jsontree.Node, offset int) *jsontree.Node {
	for c := range n.Children() {
		if c.Span.Start <= offset && offset < c.Span.End {
			return c
		}
	}
	return nil
}

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

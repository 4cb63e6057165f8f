package lint

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// lacks reports whether the user did not write the member. A member that was dropped
// because its value has the wrong type is not lacking.
func (s Site) lacks(n *jsontree.Node, member string) bool {
	return n.Get(member) == nil && s.raw(n).Get(member) == nil
}

// raw returns the object or array as in the file; nil if it is not in the file.
func (s Site) raw(n *jsontree.Node) *jsontree.Node {
	src, span := n.Location()
	for raw := s.File.Root; raw != nil && raw.Source == src; raw = childAt(raw, span.Start) {
		if raw.Span == span && (raw.Is(jsontree.Object) || raw.Is(jsontree.Array)) {
			return raw
		}
	}
	return nil
}

// childAt returns the child whose text contains the offset; nil if no child does.
func childAt(n *jsontree.Node, offset int) *jsontree.Node {
	for c := range n.Children() {
		if c.Span.Start <= offset && offset < c.Span.End {
			return c
		}
	}
	return nil
}

// remove returns the fix that removes a member or an element with its comma. It returns
// nil if the file does not contain it in this form.
func (s Site) remove(n *jsontree.Node) *diag.Fix {
	span, ok := removal(n)
	if !ok || s.compact() && n.Key.Start == n.Key.End {
		return nil
	}
	// An element of an array has no name.
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

// insert returns the fix that adds a member or an element, given as JSON text, at the end
// of an object or array. It returns nil if the user did not write that object.
func (s Site) insert(n *jsontree.Node, text string) *diag.Fix {
	src, span := n.Location()
	if src == nil || span.End > len(src.Text) || span.End-span.Start < 2 || s.compact() && span == s.Job.Node.Span {
		return nil
	}
	if brackets := src.Text[span.Start:span.Start+1] + src.Text[span.End-1:span.End]; brackets != "{}" && brackets != "[]" {
		return nil // also one that is never closed
	}
	if name, _, ok := strings.Cut(strings.TrimPrefix(text, `"`), `"`); ok && n.Is(jsontree.Object) && !s.lacks(n, name) {
		return nil // it exists, but has the wrong type
	}
	end := len(strings.TrimRight(src.Text[:span.End-1], blanks))
	last := src.Text[end-1]
	if end-1 > span.Start {
		if last == ',' {
			return nil // a syntax error, which is reported separately
		}
		text = "," + indentOf(src.Text, n) + text
	}
	return &diag.Fix{Message: "add " + strings.TrimLeft(text, ","+blanks), Edits: []diag.Edit{{Span: diag.Span{Start: end, End: end}, Text: text}}}
}

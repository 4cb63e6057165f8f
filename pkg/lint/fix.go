package lint

import (
	"path/filepath"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/shape"
)

// userFile is the file of a job or of another request, as the user wrote it.
type userFile struct{ File *document.File }

// directory returns the directory of the job's file.
func (f userFile) directory() string {
	if f.File.Source == nil {
		return ""
	}
	return filepath.Dir(f.File.Source.Name)
}

// compact reports whether the user writes the short form, so that hints use it too.
func (f userFile) compact() bool {
	return f.File.Kind == document.KindJob || f.File.Kind == document.KindWorkflow
}

// lacks reports whether the user did not write the member. A member that was dropped is not
// lacking: its value has the wrong type, its name is in another case or has separators, or it
// is in an object that repeats the name of the object around it, which is reported itself.
func (f userFile) lacks(n *jsontree.Node, member string) bool {
	return n.Get(member) == nil && !has(f.raw(n), shape.Fold(member))
}

// has reports whether an object, or the same object inside of it, has a member with that folded name.
func has(n *jsontree.Node, folded string) bool {
	for m := range n.Children() {
		if shape.Fold(m.Name) == folded || repeats(m, n) && has(m, folded) {
			return true
		}
	}
	return false
}

// repeats reports whether an object has the name of the object around it, such as the second containerProperties in
// containerProperties.containerProperties.
func repeats(n, around *jsontree.Node) bool {
	return n.Is(jsontree.Object) && around.Is(jsontree.Object) && n.Name != "" &&
		shape.Fold(n.Name) == shape.Fold(around.Name)
}

// raw returns the object or array as in the file; nil if it is not in the file.
func (f userFile) raw(n *jsontree.Node) *jsontree.Node {
	src, span := n.Location()
	for raw := f.File.Root; raw != nil && raw.Source == src; raw = childAt(raw, span.Start) {
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
func (f userFile) remove(n *jsontree.Node) *diag.Fix {
	span, ok := jsontree.Removal(n)
	if !ok || f.compact() && n.Key.Start == n.Key.End {
		return nil
	}
	// An element of an array has no name.
	what := "it"
	if n.Name != "" {
		what = n.Name
	}
	fix := &diag.Fix{Message: "remove " + what, Edits: []diag.Edit{{Span: span}}}
	if jsontree.HasContent(n) {
		fix.Class = diag.Loss
	}
	return fix
}

// insert returns the fix that adds a member or an element, given as JSON text, at the end
// of an object or array. It returns nil if the user did not write that object.
func (j Job) insert(n *jsontree.Node, text string) *diag.Fix {
	if _, span := n.Location(); j.compact() && span == j.Node.Span {
		return nil
	}
	if name, _, ok := strings.Cut(strings.TrimPrefix(text, `"`), `"`); ok && n.Is(jsontree.Object) &&
		!j.lacks(n, name) {
		return nil // it exists, but has the wrong type
	}
	return insertion(n, text)
}

// insertion returns the fix that adds a member or an element, given as JSON text, at the
// end of an object or array.
func insertion(n *jsontree.Node, text string) *diag.Fix {
	edit, ok := jsontree.Insertion(n, text)
	if !ok {
		return nil
	}
	return &diag.Fix{Message: "add " + text, Edits: []diag.Edit{edit}}
}

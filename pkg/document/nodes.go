package document

import (
	"path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func isTrue(n *jsontree.Node) bool { return n.Is(jsontree.Bool) && n.Text == "true" }

// texts returns the elements of an array as text; "" for an element that is not a string.
func texts(array *jsontree.Node) []string {
	var out []string
	for n := range array.Children() {
		out = append(out, n.Str())
	}
	return out
}

// whole returns a whole number; 0 for anything else.
func whole(n *jsontree.Node) int {
	i, _ := n.Int()
	return int(i)
}

// only and without return a copy of an object with only, or without, the members of these
// names.
func only(layer *jsontree.Node, names []string) *jsontree.Node {
	return filter(layer, func(m *jsontree.Node) bool { return slices.Contains(names, m.Name) })
}

func without(layer *jsontree.Node, names []string) *jsontree.Node {
	return filter(layer, func(m *jsontree.Node) bool { return !slices.Contains(names, m.Name) })
}

// filter returns a copy of an object with the members for which keep is true.
func filter(layer *jsontree.Node, keep func(member *jsontree.Node) bool) *jsontree.Node {
	if layer == nil {
		return nil
	}
	out := jsontree.NewObject(layer)
	for m := range layer.Children() {
		if keep(m) {
			out.Append(m.Clone())
		}
	}
	return out
}

// at returns an empty node at span in the text of n, as the base for others.
func at(n *jsontree.Node, span diag.Span) *jsontree.Node {
	return &jsontree.Node{Source: n.Source, Span: span, Key: n.Key}
}

// first returns the first member or element; nil if there is no such.
func first(node *jsontree.Node) *jsontree.Node {
	for child := range node.Children() {
		return child
	}
	return nil
}

// brace returns the location for the problem that an object lacks something.
func brace(n *jsontree.Node) diag.Span { return Opening(n) }

// IsYAML reports whether a text is read as YAML. The extension decides. Without one, as
// for standard input, members of a template at the start of lines decide. A text that
// begins with a brace is always JSON.
func IsYAML(src *diag.Source) bool {
	text := src.Text[:min(len(src.Text), 1<<16)]
	start := strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \t\r\n")
	if strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") && !isYAMLName(src.Name) {
		return false
	}
	switch {
	case isYAMLName(src.Name):
		return true
	case strings.HasSuffix(strings.ToLower(src.Name), ".json"):
		return false
	}
	for line := range strings.Lines(text) {
		for _, member := range [...]string{"AWSTemplateFormatVersion", "Resources", "Transform"} {
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "\ufeff"), member); ok && strings.HasPrefix(rest, ":") {
				return true
			}
		}
	}
	return false
}

// isYAMLName reports whether a file is YAML by its extension.
func isYAMLName(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// Opening returns the location for a problem that an object or array lacks something: its
// opening bracket. In YAML without brackets, it is the name of the member, or else the
// name of its first member.
func Opening(n *jsontree.Node) diag.Span {
	src, span := n.Location()
	bracket := diag.Span{Start: span.Start, End: min(span.Start+1, span.End)}
	if src == nil || span.End <= span.Start || span.End > len(src.Text) || strings.IndexByte("{[", src.Text[span.Start]) >= 0 || !IsYAML(src) {
		return bracket
	}
	if n.Key.End > n.Key.Start {
		return n.Key
	}
	if child := first(n); child != nil && child.Source == src && child.Key.End > child.Key.Start {
		return child.Key
	}
	return bracket
}

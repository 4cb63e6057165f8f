package document

import (
	"path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func isTrue(n *jsontree.Node) bool { return n.Is(jsontree.Bool) && n.Text == "true" }

func texts(array *jsontree.Node) []string {
	var out []string
	for n := range array.Children() {
		out = append(out, n.Str())
	}
	return out
}

func whole(n *jsontree.Node) int {
	i, _ := n.Int()
	return int(i)
}

func only(layer *jsontree.Node, names []string) *jsontree.Node {
	return filter(layer, func(m *jsontree.Node) bool { return slices.Contains(names, m.Name) })
}

func without(layer *jsontree.Node, names []string) *jsontree.Node {
	return filter(layer, func(m *jsontree.Node) bool { return !slices.Contains(names, m.Name) })
}

// filter returns a copy of an object with the members that keep wants.
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

// at is an empty node at span in the text of n, to build others from.
func at(n *jsontree.Node, span diag.Span) *jsontree.Node {
	return &jsontree.Node{Source: n.Source, Span: span, Key: n.Key}
}

func first(node *jsontree.Node) *jsontree.Node {
	for child := range node.Children() {
		return child
	}
	return nil
}

// brace is the place of what an object lacks.
func brace(n *jsontree.Node) diag.Span { return Opening(n) }

// IsYAML reports whether a text is read as YAML: by the ending of its name, or, where
// that says nothing, as of standard input, by the members of a template at the start of
// lines. What begins with a brace is JSON by any name.
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

func isYAMLName(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// Opening is the place of what an object or an array lacks: its opening bracket. One
// that has none, in YAML, is marked at the name of the member that it is, or of its own
// first member.
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

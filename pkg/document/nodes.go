package document

import (
	"slices"

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

// numberText returns a number as written; "0" for anything else.
func numberText(n *jsontree.Node) string {
	if !n.Is(jsontree.Number) {
		return "0"
	}
	return n.Text
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

// first returns the first member or element; nil if there is no such.
func first(node *jsontree.Node) *jsontree.Node {
	for child := range node.Children() {
		return child
	}
	return nil
}

// merge applies a fragment to a request; nil changes nothing.
func merge(request, fragment *jsontree.Node) *jsontree.Node {
	if fragment == nil {
		return request
	}
	return jsontree.Merge(request, fragment)
}

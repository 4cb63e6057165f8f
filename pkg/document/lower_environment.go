package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// pairs lowers a map of strings to AWS's list of names and values; a list stays unchanged.
func pairs(arena *jsontree.Arena, m *jsontree.Node, value string) *jsontree.Node {
	if !m.Is(jsontree.Object) {
		return arena.Clone(m)
	}
	list := arena.New(jsontree.Array, "", m)
	nodes := arena.Nodes(3 * m.Len()) // a job may have many, so they share an allocation
	for v := range m.Children() {
		entry, name, other := &nodes[0], &nodes[1], &nodes[2]
		nodes = nodes[3:]
		entry.Kind, entry.Source, entry.Span, entry.Key = jsontree.Object, v.Source, v.Span, v.Key
		name.Kind, name.Source, name.Span, name.Key = jsontree.String, v.Source, v.Key, v.Key
		name.Name, name.Text = "name", v.Name
		other.Kind, other.Source, other.Span, other.Key = v.Kind, v.Source, v.Span, v.Key
		other.Name, other.Text = value, v.Text
		entry.Append(name)
		entry.Append(other)
		list.Append(entry)
	}
	return list
}

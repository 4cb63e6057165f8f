package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// environmentMember and secretsMember are the variables of the container's environment.
var (
	environmentMember = member{name: "environment", in: inContainer, override: "environment",
		lower: func(l *lowering, m *jsontree.Node) *jsontree.Node { return pairs(l.arena, m, "value") },
		raise: func(list *jsontree.Node) *jsontree.Node { return unpaired(list, "value") },
		merge: func(below, above *jsontree.Node) *jsontree.Node { return mergePairs(below, above, "value") }}
	secretsMember = member{name: "secrets", in: inContainer,
		lower: func(l *lowering, m *jsontree.Node) *jsontree.Node { return pairs(l.arena, m, "valueFrom") },
		raise: func(list *jsontree.Node) *jsontree.Node { return unpaired(list, "valueFrom") },
		merge: func(below, above *jsontree.Node) *jsontree.Node { return mergePairs(below, above, "valueFrom") }}
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

// unpaired returns AWS's list of names and values as a map; the list if no map has the same meaning.
func unpaired(list *jsontree.Node, value string) *jsontree.Node {
	out := jsontree.NewObject(list)
	for entry := range list.Children() {
		name, v := entry.Get("name"), entry.Get(value)
		if name == nil || v == nil || out.Get(name.Text) != nil || name.Text == "$comment" {
			return list
		}
		out.Set(name.Text, v.Clone())
	}
	return out
}

// mergePairs merges variables. A map and AWS's list of the same variables are two forms of the same value, so they are
// merged too.
func mergePairs(below, above *jsontree.Node, value string) *jsontree.Node {
	if below.Kind == above.Kind {
		return jsontree.Merge(below, above)
	}
	return jsontree.Merge(asMap(below, value), asMap(above, value))
}

// asMap returns a list of names and values as a map from names to values.
func asMap(n *jsontree.Node, value string) *jsontree.Node {
	if n.Is(jsontree.Object) {
		return n
	}
	out := jsontree.NewObject(n)
	for entry := range n.Children() {
		if v := entry.Get(value).Clone(); v != nil {
			v.Key = entry.Get("name").Span
			out.Set(entry.Get("name").Str(), v)
		}
	}
	return out
}

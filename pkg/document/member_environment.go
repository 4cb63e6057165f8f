package document

import (
	"cmp"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// environmentMember and secretsMember are the variables of the container's environment.
var (
	environmentMember = member{name: "environment", in: inContainer, override: "environment",
		lower: func(l *lowering, m *jsontree.Node) *jsontree.Node { return pairs(l.arena, m, "value") },
		raise: func(list *jsontree.Node) *jsontree.Node { return shortPairs(list, "value") },
		merge: func(below, above *jsontree.Node) *jsontree.Node { return mergePairs(below, above, "value") }}
	secretsMember = member{name: "secrets", in: inContainer,
		lower: func(l *lowering, m *jsontree.Node) *jsontree.Node { return pairs(l.arena, m, "valueFrom") },
		raise: func(list *jsontree.Node) *jsontree.Node { return shortPairs(list, "valueFrom") },
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

// mergePairs merges variables. A map and AWS's list of the same variables are two forms of the same value, so they are
// merged too.
func mergePairs(below, above *jsontree.Node, value string) *jsontree.Node {
	if below.Kind == above.Kind {
		return jsontree.Merge(below, above)
	}
	below, _ = asMap(below, value)
	above, _ = asMap(above, value)
	return jsontree.Merge(below, above)
}

// shortPairs returns AWS's list of names and values as a map; the list if no map has the same meaning.
func shortPairs(list *jsontree.Node, value string) *jsontree.Node {
	if m, exact := asMap(list, value); exact {
		return m
	}
	return list
}

// asMap returns a list of names and values as a map from names to values. exact is true if both have the same meaning.
func asMap(n *jsontree.Node, value string) (m *jsontree.Node, exact bool) {
	if n.Is(jsontree.Object) {
		return n, true
	}
	m, exact = jsontree.NewObject(n), true
	for entry := range n.Children() {
		name, v := entry.Get("name"), entry.Get(value).Clone()
		if v == nil {
			exact = false
			continue
		}
		exact = exact && name != nil && m.Get(name.Str()) == nil && name.Str() != "$comment"
		v.Key = cmp.Or(name, entry).Span // a rule reports the missing name
		m.Set(name.Str(), v)
	}
	return m, exact
}

package document

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// valid generates documents that satisfy a schema, with all of its members and types. It
// uses only the compiled schema.
func valid(s *shape) *rapid.Generator[*jsontree.Node] {
	return rapid.Custom(func(t *rapid.T) *jsontree.Node { return draw(t, s, 0) })
}

func draw(t *rapid.T, s *shape, depth int) *jsontree.Node {
	parts := parts(t, s)
	var types uint8
	for _, p := range parts {
		types |= p.types
		if p.enum != nil {
			return jsontree.NewString(rapid.SampledFrom(p.enum).Draw(t, "enum"), nil)
		}
	}
	if types == 0 {
		return drawScalar(t)
	}
	var kinds []jsontree.Kind
	for k := jsontree.Null; k <= jsontree.Object; k++ {
		if types&bit(k) != 0 {
			kinds = append(kinds, k)
		}
	}
	if types&wholeNumber != 0 {
		kinds = append(kinds, jsontree.Number)
	}
	switch rapid.SampledFrom(kinds).Draw(t, "type") {
	case jsontree.Object:
		return drawObject(t, parts, depth)
	case jsontree.Array:
		list := jsontree.NewArray(nil)
		for _, p := range parts {
			if p.items == nil {
				continue
			}
			for range rapid.IntRange(p.minItems, 2).Draw(t, "elements") {
				list.Append(draw(t, p.items, depth+1))
			}
		}
		return list
	case jsontree.Number:
		least, most := 1.0, 300.0
		for _, p := range parts {
			least, most = max(least, p.minimum), min(most, p.maximum)
		}
		return jsontree.NewInt(rapid.Int64Range(int64(least), int64(max(least, most))).Draw(t, "number"), nil)
	case jsontree.Bool:
		return jsontree.NewBool(rapid.Bool().Draw(t, "boolean"), nil)
	}
	text := rapid.SampledFrom(words).Draw(t, "string")
	for _, p := range parts {
		if text == "" && p.minLength > 0 || p.named && !isName(text) {
			text = "a"
		}
	}
	return jsontree.NewString(text, nil)
}

var words = []string{"", "a", "b", "30 GiB", "2h", "1", "2048", "0", "0.5", "1.50", "${a}", "ä\n", "Ref::x", "$comment"}

func drawScalar(t *rapid.T) *jsontree.Node {
	return jsontree.NewString(rapid.SampledFrom(words).Draw(t, "any"), nil)
}

// parts returns the shapes that a value must satisfy together. Of several alternatives, it
// draws one.
func parts(t *rapid.T, s *shape) []*shape {
	out := []*shape{s}
	if s.ref != nil {
		out = append(out, parts(t, s.ref())...)
	}
	if len(s.anyOf) > 0 {
		out = append(out, parts(t, rapid.SampledFrom(s.anyOf).Draw(t, "choice"))...)
	}
	return out
}

func drawObject(t *rapid.T, parts []*shape, depth int) *jsontree.Node {
	out := jsontree.NewObject(nil)
	denied := map[string]bool{}
	for _, p := range parts {
		for _, name := range sorted(p.members) {
			m := p.members[name]
			denied[name] = denied[name] || m.shape.never
			rare := depth < 2 && len(p.members) < 20
			wanted := m.bit != 0 || rapid.IntRange(0, 3).Draw(t, name) == 0 || rare && rapid.Bool().Draw(t, name)
			if wanted && !denied[name] {
				out.Set(name, draw(t, m.shape, depth+1))
			}
		}
	}
	for _, p := range parts {
		if p.others != nil && !p.others.never {
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 2, rapid.ID).Draw(t, "names") {
				out.Set(name, draw(t, p.others, depth+1))
			}
		}
	}
	return out
}

func sorted(members map[string]shapeMember) []string {
	var out []string
	for name := range members {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// all returns every node of a tree, the root first.
func all(n *jsontree.Node) []*jsontree.Node {
	out := []*jsontree.Node{n}
	for child := range n.Children() {
		out = append(out, all(child)...)
	}
	return out
}

// replaced returns a copy of a tree with one node changed: replaced by another value,
// removed if with is nil, or renamed.
func replaced(n, old, with *jsontree.Node, rename string) *jsontree.Node {
	if n == old {
		if with == nil {
			return nil
		}
		c := with.Clone()
		c.Name = n.Name
		if rename != "" {
			c.Name = rename
		}
		return c
	}
	if n.Kind != jsontree.Object && n.Kind != jsontree.Array {
		return n.Clone()
	}
	out := jsontree.NewArray(nil)
	if n.Kind == jsontree.Object {
		out = jsontree.NewObject(nil)
	}
	out.Name = n.Name
	for child := range n.Children() {
		c := replaced(child, old, with, rename)
		if n.Kind == jsontree.Array {
			out.Append(c)
		} else if c != nil {
			out.Set(c.Name, c)
		}
	}
	return out
}

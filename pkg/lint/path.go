package lint

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// path leads from an object to members: names joined by dots, "[]" after a name for every
// element of a list, "*" for every member of a map. The empty path is the object itself.
type path string

// names returns the set of members of a path.
func (p path) names() (s nameSet) {
	for rest := p; rest != ""; {
		var name path
		name, rest = rest.step()
		if name != "*" {
			s.add(string(name))
		}
	}
	return s
}

// step cuts the first member off a path.
func (p path) step() (name, rest path) {
	end := 0
	for end < len(p) && p[end] != '.' && p[end] != '[' {
		end++
	}
	rest = p[end:]
	for rest != "" && (rest[0] == '[' || rest[0] == ']' || rest[0] == '.') {
		rest = rest[1:]
	}
	return p[:end], rest
}

// walk visits the nodes at a path. It skips absent members.
func (p path) walk(n *jsontree.Node, visit func(*jsontree.Node)) {
	for p != "" {
		if n == nil {
			return
		}
		step, rest, _ := strings.Cut(string(p), ".")
		p = path(rest)
		name, each := strings.CutSuffix(step, "[]")
		if name != "*" {
			n = n.Get(name)
		}
		if each || name == "*" {
			p.walkEach(n, visit)
			return
		}
	}
	if n != nil {
		visit(n)
	}
}

// member returns the node at a path of single members; ok is false for a path with lists
// or maps. Most paths have single members only, and a file needs hundreds of them.
func (p path) member(n *jsontree.Node) (m *jsontree.Node, ok bool) {
	for p != "" && n != nil {
		i := 0
		for i < len(p) && p[i] != '.' {
			if p[i] == '[' || p[i] == '*' {
				return nil, false
			}
			i++
		}
		n = n.Get(string(p[:i]))
		p = p[min(i+1, len(p)):]
	}
	return n, true
}

// walkEach walks from every child of n. Most such paths have one more step, which is
// parsed only once.
func (p path) walkEach(n *jsontree.Node, visit func(*jsontree.Node)) {
	last := p != "" && p != "*" && !strings.ContainsAny(string(p), ".[")
	for c := range n.Children() {
		if !last {
			p.walk(c, visit)
		} else if m := c.Get(string(p)); m != nil {
			visit(m)
		}
	}
}

// label returns the name for messages: the last member of a path.
func (p path) label() string {
	name := strings.TrimSuffix(strings.TrimSuffix(string(p), ".*"), "[]")
	return name[strings.LastIndexByte(name, '.')+1:]
}

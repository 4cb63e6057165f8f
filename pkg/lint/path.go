package lint

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

type path string

// names is the members on the way of a path.
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

// walk visits what the path leads to. Whatever is not there is passed over.
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

// member returns what a path of members leads to; ok is false for one with steps
// to many. Most paths are of that kind, and a file has hundreds of them to go.
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

// walkEach walks from every child of n. Most such paths have one step more, which
// need not be read again for every child.
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

// label names what a path leads to: its last member.
func (p path) label() string {
	name := strings.TrimSuffix(strings.TrimSuffix(string(p), ".*"), "[]")
	return name[strings.LastIndexByte(name, '.')+1:]
}

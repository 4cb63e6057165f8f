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
		name, rest = rest.first()
		if name != "*" {
			s.add(string(name))
		}
	}
	return s
}

// first cuts the first member off a path.
func (p path) first() (name, rest path) {
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
	for _, reached := range p.route().appendFrom(nil, n) {
		visit(reached)
	}
}

// route is a path, cut into its steps.
type route []step

// step goes to a member of an object, or stays at the node if the name is "". Then it goes to every child if each is
// true.
type step struct {
	name string
	each bool
}

// route returns the steps of a path.
func (p path) route() (r route) {
	for rest := string(p); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, ".")
		if name == "*" {
			r = append(r, step{"", true})
			continue
		}
		name, each := strings.CutSuffix(name, "[]")
		r = append(r, step{name, each})
	}
	return r
}

// routes returns the steps of several paths.
func routes(paths ...string) []route {
	list := make([]route, len(paths))
	for i, p := range paths {
		list[i] = path(p).route()
	}
	return list
}

// appendFrom appends the nodes that the route reaches from n to a list. It skips absent members.
func (r route) appendFrom(list []*jsontree.Node, n *jsontree.Node) []*jsontree.Node {
	for i, s := range r {
		if s.name != "" {
			n = n.Get(s.name)
		}
		if s.each {
			for c := range n.Children() {
				list = r[i+1:].appendFrom(list, c)
			}
			return list
		}
	}
	if n != nil {
		list = append(list, n)
	}
	return list
}

// label returns the name for messages: the last member of a path.
func (p path) label() string {
	name := strings.TrimSuffix(strings.TrimSuffix(string(p), ".*"), "[]")
	return name[strings.LastIndexByte(name, '.')+1:]
}

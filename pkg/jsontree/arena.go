package jsontree

import "github.com/batchctl/batchctl/pkg/diag"

// Arena holds memory for the nodes of trees that are no longer needed when the next
// document is read. A program that reads thousands of documents reuses it for all. A nil
// Arena allocates new memory for every tree. An Arena is for one goroutine.
type Arena struct {
	nodes []Node
	used  int
	// parser is that of the last document.
	parser parser
	// seen is the table in which the strict reader finds duplicate names.
	seen []*Node
}

// keepNodes bounds the nodes that an arena keeps after a large document, to about 4 MiB.
const keepNodes = 1 << 15

// Parse is the function Parse with nodes of the arena, which are valid until Reset.
func (a *Arena) Parse(src *diag.Source) (*Node, diag.List) {
	text, conflicts := diag.Conflicts(src, RuleSyntax)
	p := a.newParser(src, text)
	p.list = conflicts
	if !p.plausible() {
		return nil, p.list
	}
	if len(p.list) > 0 {
		root, list := p.document()
		for i := range list {
			list[i].Fix = nil // nothing tells which side is right
		}
		return root, list
	}
	if root := readStrict(src, p.pos, a); root != nil {
		return root, nil
	}
	root, list := p.document()
	return root, settled(src, proven(src, list))
}

// Nodes returns n empty nodes, to be filled in and linked into a tree.
func (a *Arena) Nodes(n int) []Node {
	if a == nil {
		return make([]Node, n)
	}
	if len(a.nodes)-a.used < n {
		a.nodes, a.used = make([]Node, max(n, 2*len(a.nodes), 256)), 0 // nodes in use stay with their trees
	}
	taken := a.nodes[a.used : a.used+n : a.used+n]
	a.used += n
	return taken
}

// New returns a node without children that has the location of from, which may be nil.
func (a *Arena) New(kind Kind, text string, from *Node) *Node {
	n := &a.Nodes(1)[0]
	n.Kind, n.Text = kind, text
	if from != nil {
		n.Source, n.Span, n.Key = from.Source, from.Span, from.Key
	}
	return n
}

// Clone is Node.Clone with nodes of the arena.
func (a *Arena) Clone(n *Node) *Node {
	if n == nil {
		return nil
	}
	slab := a.Nodes(n.size())[:0]
	return n.cloneInto(&slab)
}

// newParser is the function newParser with the arena's memory.
func (a *Arena) newParser(src *diag.Source, text string) *parser {
	if a == nil {
		return newParser(src, text)
	}
	a.parser = parserAt(src, text)
	return &a.parser
}

// giveBack returns the last n allocated nodes, which must be unused.
func (a *Arena) giveBack(n int) {
	if a != nil {
		a.used -= n
	}
}

// keepSeen keeps the table for the next document, unless it is large.
func (a *Arena) keepSeen(table []*Node) {
	if len(table) <= keepNodes {
		a.seen = table
	}
}

// Keep leaves the nodes allocated since Reset to their trees permanently.
func (a *Arena) Keep() {
	a.nodes, a.used = a.nodes[a.used:], 0
}

// Reset reuses all nodes except those of Keep. No other tree of the arena may be used
// afterwards.
func (a *Arena) Reset() {
	if len(a.nodes) > keepNodes {
		a.nodes = nil
	}
	clear(a.nodes[:min(a.used, len(a.nodes))])
	a.used, a.parser = 0, parser{}
}

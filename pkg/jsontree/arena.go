package jsontree

import "github.com/batchctl/batchctl/pkg/diag"

// Arena is room for the nodes of trees that are no longer needed when the next
// document is read: a program that reads thousands uses the same room for all.
// A nil Arena takes new room for every tree. It is for one goroutine.
type Arena struct {
	nodes []Node
	used  int
	// seen is the table in which the strict reader looks for names twice.
	seen []*Node
}

// keepNodes bounds the room that an arena keeps after a large document, to about 4 MiB.
const keepNodes = 1 << 15

// Parse is the function Parse with nodes of the arena, which are good until Reset.
func (a *Arena) Parse(src *diag.Source) (*Node, diag.List) {
	p := &parser{src: src, text: src.Text}
	if !p.plausible() {
		return nil, p.list
	}
	if root := readStrict(src, p.pos, a); root != nil {
		return root, nil
	}
	root, list := p.document()
	return root, proven(src, list)
}

// Nodes returns n empty nodes, to be filled in and linked into a tree.
func (a *Arena) Nodes(n int) []Node {
	if a == nil {
		return make([]Node, n)
	}
	if len(a.nodes)-a.used < n {
		a.nodes, a.used = make([]Node, max(n, 2*len(a.nodes), 256)), 0 // what is taken stays with its trees
	}
	taken := a.nodes[a.used : a.used+n : a.used+n]
	a.used += n
	return taken
}

// New returns a node without children that has the place of from, which may be nil.
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

// giveBack returns the last n nodes that were taken, unused.
func (a *Arena) giveBack(n int) {
	if a != nil {
		a.used -= n
	}
}

func (a *Arena) keepSeen(table []*Node) {
	if len(table) <= keepNodes {
		a.seen = table
	}
}

// Keep leaves the nodes taken since Reset to their trees for good.
func (a *Arena) Keep() {
	a.nodes, a.used = a.nodes[a.used:], 0
}

// Reset takes back all nodes but those of Keep. No other tree of the arena may be used after it.
func (a *Arena) Reset() {
	if len(a.nodes) > keepNodes {
		a.nodes = nil
	}
	clear(a.nodes[:min(a.used, len(a.nodes))])
	a.used = 0
}

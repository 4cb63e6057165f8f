package jsontree

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Lowering builds new trees from the user's text. A built node has the location of the
// node that it comes from, so a rule that reads the new tree still refers to the old text.
// The from node may be nil.

func at(kind Kind, text string, from *Node) *Node { return (*Arena)(nil).New(kind, text, from) }

// NewObject returns an empty object with the location of from.
func NewObject(from *Node) *Node { return at(Object, "", from) }

// NewArray returns an empty array with the location of from.
func NewArray(from *Node) *Node { return at(Array, "", from) }

// NewString returns a string with the location of from.
func NewString(text string, from *Node) *Node { return at(String, text, from) }

// NewInt returns a number with the location of from.
func NewInt(i int64, from *Node) *Node { return at(Number, strconv.FormatInt(i, 10), from) }

// NewBool returns a boolean with the location of from.
func NewBool(b bool, from *Node) *Node { return at(Bool, strconv.FormatBool(b), from) }

// Valued returns a scalar with another kind and text, with the name and the location of n.
func (n *Node) Valued(kind Kind, text string) *Node {
	c := at(kind, text, n)
	c.Name, c.Key = n.Name, n.Key
	return c
}

// Location returns the node's source and span, for a diagnostic about its value.
func (n *Node) Location() (*diag.Source, diag.Span) {
	if n == nil {
		return nil, diag.Span{}
	}
	return n.Source, n.Span
}

// Clone returns a deep copy that shares no node with n.
func (n *Node) Clone() *Node {
	return (*Arena)(nil).Clone(n)
}

// size returns the number of nodes of the tree.
func (n *Node) size() int {
	size := 1
	for c := n.first; c != nil; c = c.next {
		size += c.size()
	}
	return size
}

// cloneInto is Clone with nodes from a slab, which must have the capacity for all.
func (n *Node) cloneInto(slab *[]Node) *Node {
	*slab = append(*slab, *n)
	c := &(*slab)[len(*slab)-1]
	c.first, c.last, c.next, c.n = nil, nil, nil, 0
	for child := n.first; child != nil; child = child.next {
		c.link(child.cloneInto(slab))
	}
	return c
}

// link appends a child without any check.
func (n *Node) link(child *Node) {
	if n.last == nil {
		n.first = child
	} else {
		n.last.next = child
	}
	n.last = child
	n.n++
}

// Append adds an element to an array. The child must not be in another tree; Clone it if it
// is. Appending nil does nothing.
func (n *Node) Append(child *Node) {
	if child != nil {
		n.link(child)
	}
}

// Set gives the object a member of that name. It replaces a member of the same name, or adds
// one at the end. The child must not be in another tree; Clone it if it is. Setting nil does
// nothing.
func (n *Node) Set(name string, child *Node) {
	if child == nil {
		return
	}
	child.Name = name
	var prev *Node
	for c := n.first; c != nil; prev, c = c, c.next {
		if c.Name != name {
			continue
		}
		child.next = c.next
		if prev == nil {
			n.first = child
		} else {
			prev.next = child
		}
		if n.last == c {
			n.last = child
		}
		return
	}
	n.link(child)
}

// Remove removes a child.
func (n *Node) Remove(child *Node) {
	n.keep(slices.DeleteFunc(slices.Collect(n.Children()), func(c *Node) bool { return c == child }))
}

// keep makes some of the children the only ones.
func (n *Node) keep(some []*Node) {
	n.first, n.last, n.n = nil, nil, 0
	for _, c := range some {
		c.next = nil
		n.Append(c)
	}
}

// KeepLast removes, from the node and everything below it, the members of an object that a later one of the same name
// replaces.
func (n *Node) KeepLast() {
	children := slices.Collect(n.Children())
	if n.Is(Object) {
		last := make(map[string]*Node, len(children))
		for _, c := range children {
			last[c.Name] = c
		}
		if len(last) < len(children) {
			children = slices.DeleteFunc(children, func(c *Node) bool { return last[c.Name] != c })
			n.keep(children)
		}
	}
	for _, c := range children {
		c.KeepLast()
	}
}

// SetIndex replaces element i of the array, which must exist.
func (n *Node) SetIndex(i int, child *Node) {
	elements := slices.Collect(n.Children())
	elements[i] = child
	n.first, n.last, n.n = nil, nil, 0
	for _, e := range elements {
		e.next = nil
		n.Append(e)
	}
}

// Merge merges over into n, both objects: members that are objects are merged recursively;
// any other value, including arrays, replaces the one in n. The result shares no node with
// either.
func Merge(n, over *Node) *Node {
	if !n.Is(Object) || !over.Is(Object) {
		if over == nil {
			return n.Clone()
		}
		return over.Clone()
	}
	out := n.Clone()
	for m := range over.Children() {
		out.Set(m.Name, Merge(out.Get(m.Name), m))
	}
	return out
}

// AppendJSON appends the node as compact JSON.
func (n *Node) AppendJSON(dst []byte) []byte {
	switch {
	case n == nil || n.Kind == Null:
		return append(dst, "null"...)
	case n.Kind == Bool || n.Kind == Number:
		return append(dst, n.Text...)
	case n.Kind == String:
		return appendString(dst, n.Text)
	}
	open, shut := byte('['), byte(']')
	if n.Kind == Object {
		open, shut = '{', '}'
	}
	dst = append(dst, open)
	for c := n.first; c != nil; c = c.next {
		if c != n.first {
			dst = append(dst, ',')
		}
		if n.Kind == Object {
			dst = append(appendString(dst, c.Name), ':')
		}
		dst = c.AppendJSON(dst)
	}
	return append(dst, shut)
}

// appendString writes s as a JSON string. Invalid UTF-8 becomes U+FFFD, as in encoding/json;
// <, > and & stay unescaped, since the output is not HTML.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20 || c == 0x7f:
			dst = append(dst, jsonEscape(c)...)
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
	}
	return append(dst, '"')
}

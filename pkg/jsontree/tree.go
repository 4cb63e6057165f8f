// Package jsontree reads JSON into nodes that know their location. Every message about a
// file refers to a node.
package jsontree

import (
	"encoding/json"
	"iter"
	"strconv"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Kind is the JSON type of a node.
type Kind uint8

// The JSON types.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the type's name as in messages: "a string", "an object".
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Node is a JSON value, together with its name if its parent is an object. A nil *Node is
// an absent value: every method accepts it, so a chain of Gets needs no checks in between.
type Node struct {
	Kind Kind
	// Source is the text that Span and Key refer to. A node that lowering built has the
	// location of the user's text. Source is nil for a value that is not in the file.
	Source *diag.Source
	// Span covers the value.
	Span diag.Span
	// Key covers the member's name with its quotes; empty outside objects.
	Key diag.Span
	// Name is the member's decoded name; empty outside objects.
	Name string
	// Text is the decoded string, the number as written, or "true" and "false".
	Text string

	// The children are a linked list, so that a tree needs no slices. n is their number.
	first, last, next *Node
	n                 int
}

// Children returns the elements of an array or the members of an object, in
// the order of the text.
func (n *Node) Children() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if n == nil {
			return
		}
		for c := n.first; c != nil; c = c.next {
			if !yield(c) {
				return
			}
		}
	}
}

// Len returns the number of children; 0 for scalars and absent nodes.
func (n *Node) Len() int {
	if n == nil {
		return 0
	}
	return n.n
}

// Is reports whether the node is present and of kind k.
func (n *Node) Is(k Kind) bool { return n != nil && n.Kind == k }

// Get returns the object's member of exactly that name, or nil. Like Len and Str it is
// called in so many places that copies of it cost the build half a second; a check is
// as fast without.
func (n *Node) Get(name string) *Node {
	if !n.Is(Object) {
		return nil
	}
	for c := n.first; c != nil; c = c.next {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// With returns the first child whose member of that name is the string text, or nil: of a list of requirements, the one
// with "type": "GPU". In a package that is compiled without inlining, a loop over Children allocates.
func (n *Node) With(member, text string) *Node {
	if n == nil {
		return nil
	}
	for c := n.first; c != nil; c = c.next {
		if m := c.Get(member); m.Is(String) && m.Text == text {
			return c
		}
	}
	return nil
}

// Index returns the array's i-th element, or nil.
func (n *Node) Index(i int) *Node {
	if !n.Is(Array) || i < 0 {
		return nil
	}
	c := n.first
	for ; c != nil && i > 0; i-- {
		c = c.next
	}
	return c
}

// At follows member names and array indices ("0", "1", ...) and returns the
// deepest node they reach: the wanted one, or its nearest ancestor.
func (n *Node) At(path ...string) *Node {
	for _, step := range path {
		next := n.Get(step)
		if next == nil && n.Is(Array) {
			if i, err := strconv.Atoi(step); err == nil {
				next = n.Index(i)
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// Str returns the decoded text of a string node, and "" for anything else.
func (n *Node) Str() string {
	if !n.Is(String) {
		return ""
	}
	return n.Text
}

// Int returns the value of a number node that is a whole number (2, 2.0, 2e3).
func (n *Node) Int() (int64, bool) {
	if !n.Is(Number) {
		return 0, false
	}
	if i, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || f != float64(int64(f)) || f >= 1<<53 || f <= -(1<<53) {
		return 0, false
	}
	return int64(f), true
}

// Value returns the node as encoding/json would decode it into an any, with numbers as
// json.Number, which is the form that schema validators accept.
func (n *Node) Value() any {
	switch {
	case n == nil:
		return nil
	case n.Kind == Bool:
		return n.Text == "true"
	case n.Kind == Number:
		return json.Number(n.Text)
	case n.Kind == String:
		return n.Text
	case n.Kind == Array:
		list := make([]any, 0, n.n)
		for c := range n.Children() {
			list = append(list, c.Value())
		}
		return list
	case n.Kind == Object:
		m := make(map[string]any, n.n)
		for c := range n.Children() {
			m[c.Name] = c.Value()
		}
		return m
	}
	return nil
}

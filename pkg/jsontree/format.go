package jsontree

import (
	"bytes"
	"unicode/utf8"
)

// Width is the column up to which job files keep an object or array on one line.
const Width = 120

// Format returns the tree as text in the layout of job files: two spaces a level, and an
// object or array on one line if it fits into width columns, unless an object in it
// contains another one or an array contains several. The document itself always has a line
// for each member. Formatting the result again changes nothing.
func Format(n *Node, width int) string {
	l := layout{width: width}
	l.value(n, 0, 0)
	return string(append(l.out, '\n'))
}

// layout is a text while it is written.
type layout struct {
	width int
	out   []byte
}

// value writes n; after is the number of columns that follow it in the line.
func (l *layout) value(n *Node, depth, after int) {
	if n.Len() == 0 {
		l.out = n.AppendJSON(l.out)
		return
	}
	if depth > 0 || n.Kind == Array {
		if line, ok := l.line(n, l.width-l.column()-after); ok {
			l.out = append(l.out, line...)
			return
		}
	}
	open, shut := n.Kind.brackets()
	l.out = append(l.out, open...)
	for c := n.first; c != nil; c = c.next {
		l.newLine(depth + 1)
		if n.Kind == Object {
			l.out = append(appendString(l.out, c.Name), ": "...)
		}
		if c.next == nil {
			l.value(c, depth+1, 0)
		} else {
			l.value(c, depth+1, 1)
			l.out = append(l.out, ',')
		}
	}
	l.newLine(depth)
	l.out = append(l.out, shut...)
}

// newLine begins a line at a depth of nesting.
func (l *layout) newLine(depth int) {
	l.out = append(l.out, '\n')
	for range depth {
		l.out = append(l.out, "  "...)
	}
}

// column returns the number of columns that the last line has so far.
func (l *layout) column() int {
	return utf8.RuneCount(l.out[bytes.LastIndexByte(l.out, '\n')+1:])
}

// line returns n on one line, if the layout allows that and it fits into the columns.
func (l *layout) line(n *Node, columns int) ([]byte, bool) {
	if !flat(n) {
		return nil, false
	}
	line, ok := appendLine(nil, n, 4*max(columns, 0)) // a character has at most four bytes
	return line, ok && utf8.RuneCount(line) <= columns
}

// flat reports whether the layout allows n on one line: no object in it contains another,
// and no array several.
func flat(n *Node) bool {
	objects := 0
	for c := range n.Children() {
		if !flat(c) {
			return false
		}
		if holdsObject(c) {
			objects++
		}
	}
	return objects == 0 || n.Kind == Array && objects == 1
}

// holdsObject reports whether n is an object with members, or an array of such.
func holdsObject(n *Node) bool {
	if n.Kind == Object {
		return n.n > 0
	}
	for c := range n.Children() {
		if holdsObject(c) {
			return true
		}
	}
	return false
}

// appendLine appends n as one line. It returns false if the line is longer than most
// bytes.
func appendLine(dst []byte, n *Node, most int) ([]byte, bool) {
	if n.Len() == 0 {
		dst = n.AppendJSON(dst)
		return dst, len(dst) <= most
	}
	open, shut := n.Kind.brackets()
	if n.Kind == Object {
		open, shut = "{ ", " }"
	}
	dst = append(dst, open...)
	for c := n.first; c != nil; c = c.next {
		if c != n.first {
			dst = append(dst, ", "...)
		}
		if n.Kind == Object {
			dst = append(appendString(dst, c.Name), ": "...)
		}
		var ok bool
		if dst, ok = appendLine(dst, c, most); !ok {
			return nil, false
		}
	}
	dst = append(dst, shut...)
	return dst, len(dst) <= most
}

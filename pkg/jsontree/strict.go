package jsontree

import (
	"hash/maphash"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/diag"
)

// strict reads a text without slips, as nearly all texts are: it keeps no tokens and
// nothing that only a message needs. It stops at anything that Parse would report, and the
// parser reads that text again. A fuzz test checks that the two agree.
type strict struct {
	src  *diag.Source
	text string
	pos  int
	// depth is the number of open brackets, which the parser limits as well.
	depth int
	// slab has the memory for the next nodes; left is the number of nodes that may follow.
	slab  []Node
	left  int
	arena *Arena
	// seen is the table in which long objects find duplicate names.
	seen []*Node
}

// readStrict returns the document that begins at start, or nil.
func readStrict(src *diag.Source, start int, arena *Arena) *Node {
	s := strict{src: src, text: src.Text, pos: start, left: maxValues, arena: arena}
	if arena != nil {
		s.seen = arena.seen
		defer func() { arena.keepSeen(s.seen) }()
	}
	s.blanks()
	root := s.value()
	if root == nil {
		return nil
	}
	if s.blanks(); s.pos < len(s.text) {
		return nil
	}
	// The rest of the slab is free for the next document.
	arena.giveBack(len(s.slab))
	return root
}

// blanks skips white space.
func (s *strict) blanks() {
	for s.pos < len(s.text) && isBlank(s.text[s.pos]) {
		s.pos++
	}
}

// sees skips white space, and then c if it is next. It reports whether c was there.
func (s *strict) sees(c byte) bool {
	s.blanks()
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// value reads the value at pos; nil without a value.
func (s *strict) value() *Node {
	if s.pos >= len(s.text) {
		return nil
	}
	start := s.pos
	switch c := s.text[start]; c {
	case '"':
		if text, ok := s.string(); ok {
			return s.node(String, text, start)
		}
	case '{':
		return s.object()
	case '[':
		return s.array()
	case 't':
		return s.literal(Bool, "true", "true")
	case 'f':
		return s.literal(Bool, "false", "false")
	case 'n':
		return s.literal(Null, "null", "")
	default:
		if n := numberLen(s.text[start:]); n > 0 && s.endsAt(start+n) {
			s.pos += n
			return s.node(Number, s.text[start:s.pos], start)
		}
	}
	return nil
}

// literal reads a constant of JSON; nil if the text has another word.
func (s *strict) literal(kind Kind, constant, text string) *Node {
	start := s.pos
	if !strings.HasPrefix(s.text[start:], constant) || !s.endsAt(start+len(constant)) {
		return nil
	}
	s.pos += len(constant)
	return s.node(kind, text, start)
}

// endsAt reports whether a number or word may end at offset i.
func (s *strict) endsAt(i int) bool {
	return i >= len(s.text) || isBlank(s.text[i]) || s.text[i] == ',' || s.text[i] == '}' || s.text[i] == ']'
}

// node allocates a node for the value from start to pos.
func (s *strict) node(kind Kind, text string, start int) *Node {
	if len(s.slab) == 0 {
		if s.left <= 0 {
			return nil
		}
		n := min(max((len(s.text)-start)/48, 8), 1024, s.left)
		s.slab, s.left = s.arena.Nodes(n), s.left-n
	}
	n := &s.slab[0]
	s.slab = s.slab[1:]
	n.Kind, n.Source, n.Text = kind, s.src, text
	n.Span = diag.Span{Start: start, End: s.pos}
	return n
}

// open allocates a node for the object or array whose bracket is at pos.
func (s *strict) open(kind Kind) *Node {
	if s.depth == maxDepth {
		return nil
	}
	n := s.node(kind, "", s.pos)
	if n != nil {
		s.depth++
		s.pos++
	}
	return n
}

// close ends the object or array at pos.
func (s *strict) close(n *Node) *Node {
	s.depth--
	n.Span.End = s.pos
	return n
}

// array and object read up to the closing bracket. They return nil for any slip.
func (s *strict) array() *Node {
	n := s.open(Array)
	if n == nil {
		return nil
	}
	if s.sees(']') {
		return s.close(n)
	}
	for {
		s.blanks()
		v := s.value()
		if v == nil {
			return nil
		}
		n.link(v)
		if s.sees(',') {
			continue
		}
		if s.sees(']') {
			return s.close(n)
		}
		return nil
	}
}

func (s *strict) object() *Node {
	n := s.open(Object)
	if n == nil {
		return nil
	}
	if s.sees('}') {
		return s.close(n)
	}
	for {
		v := s.member()
		if v == nil {
			return nil
		}
		n.link(v)
		if s.sees(',') {
			continue
		}
		if s.sees('}') && !s.twice(n) {
			return s.close(n)
		}
		return nil
	}
}

// member reads a name and its value.
func (s *strict) member() *Node {
	s.blanks()
	start := s.pos
	if start >= len(s.text) || s.text[start] != '"' {
		return nil
	}
	name, ok := s.string()
	key := diag.Span{Start: start, End: s.pos}
	if !ok || !s.sees(':') {
		return nil
	}
	s.blanks()
	v := s.value()
	if v != nil {
		v.Name, v.Key = name, key
	}
	return v
}

// string reads the string whose opening quote is at pos.
func (s *strict) string() (text string, ok bool) {
	start := s.pos + 1
	i := start
	for i+8 <= len(s.text) && plain(s.text[i:i+8]) {
		i += 8
	}
	for ; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.pos = i + 1
			return s.text[start:i], true
		case c == '\\' || c < 0x20 || c >= utf8.RuneSelf:
			return s.decoded()
		}
	}
	return "", false
}

// plain reports whether none of 8 bytes ends a string or needs decoding.
func plain(eight string) bool {
	_ = eight[7]
	v := uint64(eight[0]) | uint64(eight[1])<<8 | uint64(eight[2])<<16 | uint64(eight[3])<<24 |
		uint64(eight[4])<<32 | uint64(eight[5])<<40 | uint64(eight[6])<<48 | uint64(eight[7])<<56
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, slash := v^'"'*ones, v^'\\'*ones
	// A byte of v below 0x20, of quote or slash 0, borrows from its top bit. A byte with
	// its top bit set is not ASCII.
	return (v|(v-0x20*ones)|(quote-ones)&^quote|(slash-ones)&^slash)&tops == 0
}

// decoded reads a string with escapes or characters outside ASCII as the parser does.
func (s *strict) decoded() (text string, ok bool) {
	tolerant := scanner{problems: problems{src: s.src}, text: s.text, pos: s.pos}
	tolerant.string()
	s.pos = tolerant.pos
	return tolerant.tok.text, len(tolerant.list) == 0 && !tolerant.tok.unclosed
}

// twice reports whether two members of an object have one name.
func (s *strict) twice(object *Node) bool {
	if object.n <= 8 {
		for m := object.first; m != nil; m = m.next {
			for o := object.first; o != m; o = o.next {
				if o.Name == m.Name {
					return true
				}
			}
		}
		return false
	}
	size := 1 << bits.Len(uint(2*object.n))
	if size > len(s.seen) {
		s.seen = make([]*Node, size)
	}
	table := s.seen[:size]
	clear(table)
	for m := object.first; m != nil; m = m.next {
		i := maphash.String(nameSeed, m.Name) & uint64(size-1)
		for ; table[i] != nil; i = (i + 1) & uint64(size-1) {
			if table[i].Name == m.Name {
				return true
			}
		}
		table[i] = m
	}
	return false
}

// nameSeed is random for each process, so that an attacker cannot choose names that
// collide.
var nameSeed = maphash.MakeSeed()

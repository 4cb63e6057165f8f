package jsontree

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/diag"
)

// The limits of Parse. They are far above any job file, and bound the stack and the memory
// that a hostile file can use.
const (
	maxBytes  = 16 << 20
	maxDepth  = 100
	maxValues = 1 << 20
	maxErrors = 50
	maxHushed = 200 // slips in parts that are reported as a whole
)

// The rules that Parse reports.
const (
	// RuleSyntax is the rule of text that is not JSON.
	RuleSyntax = "json-syntax"
	// RuleDuplicate is the rule of two members with the same name.
	RuleDuplicate = "json-duplicate-name"
)

// noComments is the message of a comment.
const noComments = "JSON has no comments"

// tooMany is the message of the last slip that is reported for a text.
const tooMany = "too many errors; the rest of the file was not read"

// Parse reads one JSON document. It reports each slip as an error, with a fix if possible,
// and continues after it. The list is empty for valid JSON (RFC 8259) without duplicate
// names. The node has everything that could be parsed, or is nil. It keeps all members
// with the same name. Parse ignores a byte order mark at the start.
func Parse(src *diag.Source) (*Node, diag.List) { return (*Arena)(nil).Parse(src) }

// document reads the whole text, and continues after every slip.
func (p *parser) document() (*Node, diag.List) {
	p.advance()
	root := p.value()
	p.finish(root)
	p.list.Sort()
	return root, p.list
}

// parser builds the tree of a text with slips from the tokens of its scanner.
type parser struct {
	scanner
	open   []*Node // the brackets around tok, outermost first
	slab   []Node
	values int
	// forgiven is true if a reported slip explains that there is no comma before tok.
	forgiven bool
	// lacking is how many closing brackets the text lacks, less those that were reported; counted is false as long as
	// nothing needs to know.
	lacking int
	counted bool
	ahead   int // bytes that closerAhead has read
}

// newParser returns a parser at the start of a text that has the offsets of src.
func newParser(src *diag.Source, text string) *parser {
	p := parserAt(src, text)
	return &p
}

// parserAt is newParser, as a value.
func parserAt(src *diag.Source, text string) parser {
	return parser{scanner: scanner{problems: problems{src: src}, text: text}}
}

// node allocates a node for the value that begins at tok.
func (p *parser) node(kind Kind, text string) *Node {
	if len(p.slab) == cap(p.slab) {
		p.slab = make([]Node, 0, min(max((len(p.text)-p.pos)/32, 8), 1024))
	}
	p.slab = p.slab[:len(p.slab)+1]
	n := &p.slab[len(p.slab)-1]
	n.Kind, n.Source, n.Text = kind, p.src, text
	n.Span = diag.Span{Start: p.tok.start, End: p.tok.end}
	if p.values++; p.values > maxValues {
		p.report(p.tok.start, p.tok.end, "split the file", "more than %d values", maxValues)
		p.stop()
	}
	return n
}

// scalar reads tok as a value of that kind.
func (p *parser) scalar(kind Kind, text string) *Node {
	n := p.node(kind, text)
	p.advance()
	return n
}

// value reads the value at tok. It returns nil without advancing if tok is not a value: a
// comma, a closing bracket or the end.
func (p *parser) value() *Node {
	for p.tok.kind == colon {
		p.report(p.tok.start, p.tok.end, "remove it", "unexpected %s", p.tok.text)
		p.advance()
	}
	if n := p.placeholder(); n != nil {
		return n
	}
	switch p.tok.kind {
	case openObject:
		return p.container(Object)
	case openArray:
		return p.container(Array)
	case str:
		if !endsWord(p.text, p.pos) {
			p.innerQuotes()
		}
		return p.scalar(String, p.tok.text)
	case number:
		if p.unit() {
			return p.scalar(String, p.tok.text)
		}
		return p.scalar(Number, p.tok.text)
	case bareword:
		return p.literal()
	}
	return nil
}

// flatten is the hint for a document that is nested too deep.
const flatten = "flatten the document"

// IsTooDeep reports whether a problem is that a document is nested too deep: the parser has read nothing of what is
// below, or after it.
func IsTooDeep(d diag.Diagnostic) bool { return d.Rule == RuleSyntax && d.Hint == flatten }

// container reads the object or array whose opening bracket is tok.
func (p *parser) container(kind Kind) *Node {
	n := p.node(kind, "")
	if len(p.open) == maxDepth {
		p.report(n.Span.Start, n.Span.End, flatten, "nested deeper than %d levels", maxDepth)
		p.stop()
		return nil
	}
	p.advance()
	return p.inside(n)
}

// inside reads the items of an object or array up to its closing bracket.
func (p *parser) inside(n *Node) *Node {
	p.open = append(p.open, n)
	l := level{node: n}
	for p.step(&l) {
	}
	p.open = p.open[:len(p.open)-1]
	n.Span.End = max(n.Span.End, p.end)
	return n
}

// level is an open bracket while its items are read.
type level struct {
	node  *Node
	items int
	// commas counts the commas since the last item; first and last are the
	// outer two of them.
	commas      int
	first, last token
	// reported is true once a wrong form of the items is reported. slip is the number of that problem, from 1, if
	// it covers the items that follow.
	reported bool
	slip     int
	// closed and searched tell whether a ] ends this array; searched is false as long as nothing needs to know.
	closed, searched bool
	names            map[string]*Node
}

// step reads a comma, an item or the closing bracket inside a bracket. After the closing
// bracket, it returns false.
func (p *parser) step(l *level) bool {
	switch p.tok.kind {
	case eof:
		p.unclosed(l.node)
		return false
	case comma:
		if l.commas++; l.commas == 1 {
			l.first = p.tok
		}
		l.last = p.tok
		p.advance()
		return true
	case closeObject, closeArray:
		return !p.closes(l)
	}
	if p.ranOver(l) {
		return false
	}
	if !p.separated(l) {
		return true
	}
	l.items++
	l.commas, p.forgiven = 0, false
	if l.node.Kind == Object {
		p.member(l)
	} else {
		p.element(l)
	}
	return true
}

// element reads an element of an array. Members in an array are read as one object: only its braces are missing.
func (p *parser) element(l *level) {
	if v := p.notOpened(); v != nil {
		l.node.link(v)
		return
	}
	if p.atName() {
		p.unbraced(l)
		return
	}
	if v := p.value(); v != nil {
		l.node.link(v)
	}
	if p.tok.kind == colon { // after a value that is no name
		if !l.reported {
			p.report(p.tok.start, p.tok.end, "put { } around the members",
				"a member in an array: elements have no names")
		}
		l.reported = true
		p.advance()
		p.value()
	}
}

// unbraced reads the members in an array from tok on, up to a name that is among them already. The problem covers them
// all: what they mean is a guess.
func (p *parser) unbraced(l *level) {
	if before := len(p.list); !l.reported {
		p.report(p.tok.start, p.tok.end, "put { } around the members", "a member in an array: elements have no names")
		if len(p.list) > before {
			l.slip = len(p.list)
		}
	}
	l.reported = true
	inner := level{node: p.node(Object, "")}
	for {
		p.member(&inner)
		if p.tok.kind != comma {
			break
		}
		between := p.tok
		p.advance()
		if !p.atName() || inner.find(p.tok.text) != nil {
			l.commas, l.first, l.last = 1, between, between
			break
		}
	}
	inner.node.Span.End = max(inner.node.Span.End, p.end)
	if l.slip > 0 {
		slip := &p.list[l.slip-1]
		slip.Span.End = inner.node.Span.End
		if l.items == 1 && p.tok.kind == closeArray {
			slip.Hint = "write { } in place of [ ], or put { } around the members"
		}
	}
	l.node.link(inner.node)
}

// member reads a member of an object, and reports a name that the object has already.
func (p *parser) member(l *level) {
	key, ok := p.key()
	if !ok || !p.colon(l, key) {
		return
	}
	v := p.notOpened()
	if v == nil && p.atName() {
		p.forgiven = true
		p.noValue(key)
		return
	}
	if v == nil {
		v = p.value()
	}
	if v == nil {
		if p.tok.kind != eof {
			p.noValue(key)
		}
		return
	}
	l.reported = false
	v.Name, v.Key = key.text, diag.Span{Start: key.start, End: key.end}
	if first := l.find(v.Name); first != nil {
		line, _ := p.src.Position(first.Key.Start)
		p.add(RuleDuplicate, key.start, key.end, "keep one of the two",
			fmt.Sprintf("%s appears twice, first on line %d", quoted(v.Name), line))
	}
	l.node.link(v)
	if l.names != nil {
		l.remember(v)
	}
	if p.tok.kind == colon {
		p.report(p.tok.start, p.tok.end, "end the member with a comma first", "unexpected %s after a value", p.tok.text)
		p.skip()
	}
}

// find returns the member of that name. Long objects have a map, so that many members do
// not take the square of their number.
func (l *level) find(name string) *Node {
	if l.names == nil && l.node.n < 32 {
		return l.node.Get(name)
	}
	if l.names == nil {
		l.names = make(map[string]*Node, 4*l.node.n)
		for c := range l.node.Children() {
			l.remember(c)
		}
	}
	return l.names[name]
}

// remember adds a member to the map of names, unless an earlier one has the name.
func (l *level) remember(n *Node) {
	if l.names[n.Name] == nil {
		l.names[n.Name] = n
	}
}

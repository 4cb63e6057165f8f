package jsontree

import (
	"fmt"
	"strings"
)

// brackets returns the brackets of an object or an array.
func (k Kind) brackets() (open, shut string) {
	if k == Object {
		return "{", "}"
	}
	return "[", "]"
}

// item returns the noun for a child, for messages.
func (k Kind) item() string {
	if k == Object {
		return "member"
	}
	return "element"
}

// closes handles the closing bracket at tok. It returns true if the level ends here, even
// if the bracket belongs to an outer level.
func (p *parser) closes(l *level) bool {
	open, shut := l.node.Kind.brackets()
	early, stray, lost := false, false, false
	wrong := l.node.Kind == Object != (p.tok.kind == closeObject)
	if wrong {
		stray, lost = p.mismatch(l.node)
	} else {
		early = p.closesEarly(l)
	}
	switch {
	case early || stray:
		what := "nothing"
		if early {
			what = "too much"
			p.lacking++
		}
		p.report(p.tok.start, p.tok.end, "remove it", "%s closes %s", p.tok.text, what)
		p.advance()
		p.forgiven = true
		return false
	case lost:
		p.lostBracket(l.node, p.tok.start)
		return true
	case wrong:
		line, _ := p.src.Position(l.node.Span.Start)
		p.replace(p.tok, p.tok, shut, "write "+shut, "%s cannot close the %s of line %d", p.tok.text, open, line)
	case l.commas > 0 && l.items == 0:
		p.replace(l.first, l.last, "", "remove it", "a comma without %ss", l.node.Kind.item())
	case l.commas > 0:
		separator := l.first.text
		if separator == "," {
			separator = "comma"
		}
		p.replace(l.first, l.last, "", "remove it", "trailing %s before %s", separator, shut)
	}
	p.advance()
	return true
}

// mismatch decides what a closing bracket of the wrong kind means for n: stray if it is too much, lost if the closing
// bracket before it is missing, or else that ] was typed for } or the other way round. The indentation decides if the
// text has one; otherwise the following brackets decide.
func (p *parser) mismatch(n *Node) (stray, lost bool) {
	var outer *Node // the innermost bracket that tok can close
	for _, o := range p.open {
		if o.Kind == Object == (p.tok.kind == closeObject) {
			outer = o
		}
	}
	if indent, first := indentAt(p.text, p.tok.start); first {
		// The closing bracket has the indentation of n's line: only its kind is wrong.
		if own, _ := indentAt(p.text, n.Span.Start); own == indent {
			return false, false
		}
		if outer != nil {
			if theirs, _ := indentAt(p.text, outer.Span.Start); theirs == indent {
				return false, true
			}
		}
	}
	if p.quiet {
		return false, false
	}
	balance := balanceOf(p.text[p.pos:])
	return balance >= len(p.open), balance < len(p.open)-1 && outer != nil
}

// lostBracket reports that n lacks its own closing bracket before the one at
// offset i.
func (p *parser) lostBracket(n *Node, i int) {
	_, shut := n.Kind.brackets()
	line, _ := p.src.Position(i)
	p.neverClosed(n, fmt.Sprintf("write %s before the %c on line %d", shut, p.text[i], line), "")
}

// neverClosed reports that n lacks its closing bracket.
func (p *parser) neverClosed(n *Node, hint, more string) {
	open, _ := n.Kind.brackets()
	p.report(n.Span.Start, n.Span.Start+1, hint, "%s is never closed%s", open, more)
}

// findLost returns the first bracket inside n whose closing bracket, according to its
// indentation in the text, belongs to an outer bracket.
func findLost(text string, n *Node) *Node {
	for c := range n.Children() {
		if c.Kind < Array || !strings.Contains(text[c.Span.Start:c.Span.End], "\n") {
			continue
		}
		if inner := findLost(text, c); inner != nil {
			return inner
		}
		own, _ := indentAt(text, c.Span.Start)
		if shut, first := indentAt(text, c.Span.End-1); first && strings.HasPrefix(own, shut) && shut != own {
			return c
		}
	}
	return nil
}

// balanceOf returns how many more brackets close than open in the rest of a text. It reads only
// a limited distance, since it is called for every wrong bracket.
func balanceOf(rest string) int {
	rest = rest[:min(len(rest), 1<<20)]
	net := 0
	for _, c := range outsideStrings(rest) {
		switch c {
		case '{', '[':
			net--
		case '}', ']':
			net++
		}
	}
	return net
}

// closesLater reports whether a ] closes the array that is being read, so that a member in it has lost its braces,
// and the array has not lost its bracket.
func (p *parser) closesLater(l *level) bool {
	if !l.searched {
		l.searched = true
		shut, _ := p.closerAhead("")
		l.closed = shut == ']'
	}
	return l.closed
}

// closesEarly reports whether the closing bracket at tok is one too many, in a text that has too many: the next item is
// indented as the first one in it, or the next line has the closing bracket.
func (p *parser) closesEarly(l *level) bool {
	if l.node.Kind == Object != (p.tok.kind == closeObject) || p.lack() >= 0 {
		return false
	}
	next := p.tok.end + len(p.text[p.tok.end:]) - len(strings.TrimLeft(p.text[p.tok.end:], ", \t\r\n"))
	first, lines := l.node.first, strings.Contains(p.text[l.node.Span.Start:p.tok.start], "\n")
	if _, alone := indentAt(p.text, p.tok.start); alone || !lines || next == len(p.text) || first == nil {
		return false
	}
	indent, alone := indentAt(p.text, next)
	if p.text[next] == '}' || p.text[next] == ']' {
		own, _ := indentAt(p.text, l.node.Span.Start)
		return alone && indent == own && p.text[next:next+1] == p.tok.text
	}
	start := first.Span.Start
	if l.node.Kind == Object {
		start = first.Key.Start
	}
	own, firstAlone := indentAt(p.text, start)
	return alone && firstAlone && indent == own
}

// notOpened reads the value after a name whose opening bracket is missing, in a text that has more closing brackets
// than opening ones. It returns nil if no bracket is missing here.
func (p *parser) notOpened() *Node {
	if p.lack() >= 0 {
		return nil
	}
	kind := Object
	switch named := p.atName(); {
	case named:
		if shut, _ := p.closerAhead(""); shut != '}' {
			return nil
		}
	case p.open[len(p.open)-1].Kind != Object:
		return nil
	default:
		if shut, comma := p.closerAhead(":"); shut != ']' || !comma && p.tok.kind == openArray {
			return nil
		}
		kind = Array
	}
	p.lacking++
	open, _ := kind.brackets()
	p.report(p.end, p.end, "write "+open+" here", "%s is missing", open)
	if len(p.open) == maxDepth {
		p.stop()
		return nil
	}
	return p.inside(p.node(kind, ""))
}

// maxAhead bounds what closerAhead reads of a text in all, in bytes: it may be called for many values.
const maxAhead = 64 << 20

// closerAhead returns the bracket that closes what is open at tok, and whether a comma comes before it. The bracket is
// 0 if a byte of not comes before it, if the brackets in between do not match, or if it is too far away.
func (p *parser) closerAhead(not string) (shut byte, comma bool) {
	rest := p.text[p.tok.start:]
	rest = rest[:max(0, min(len(rest), 1<<20, maxAhead-p.ahead))]
	var shuts []byte // of the brackets that are open
	read := len(rest)
	defer func() { p.ahead += read }()
	for i, c := range outsideStrings(rest) {
		read = i
		switch {
		case len(shuts) == 0 && strings.IndexByte(not, c) >= 0:
			return 0, false
		case c == ',':
			comma = comma || len(shuts) == 0
		case c == '{' || c == '[':
			shuts = append(shuts, c+2) // the closing bracket in ASCII
		case c != '}' && c != ']':
		case len(shuts) == 0:
			return c, comma
		case shuts[len(shuts)-1] != c:
			return 0, false
		default:
			shuts = shuts[:len(shuts)-1]
		}
	}
	read = len(rest)
	return 0, false
}

// unclosed reports, once, the brackets that are open at the end of the text.
func (p *parser) unclosed(n *Node) {
	if p.done {
		return
	}
	if lost := findLost(p.text, p.open[0]); lost != nil {
		p.lostBracket(lost, lost.Span.End-1)
		p.done = true
		return
	}
	shuts, around := "", ""
	for _, o := range p.open {
		_, shut := o.Kind.brackets()
		shuts = shut + shuts
	}
	switch k := len(p.open) - 1; {
	case k == 1:
		around = ", nor is the bracket around it"
	case k > 1:
		around = fmt.Sprintf(", nor are the %d brackets around it", k)
	}
	line, col := p.src.Position(len(p.text))
	p.neverClosed(n, fmt.Sprintf("write %s at the end", shuts),
		fmt.Sprintf("%s: the text ends at line %d, column %d", around, line, col))
	p.done = true
}

// ranOver reports whether the item at tok belongs to the bracket around l, because l cannot
// contain it: a member in an array, or an object without a name in an object. Then l lacks its
// closing bracket.
func (p *parser) ranOver(l *level) bool {
	if l.items == 0 || l.reported || len(p.open) < 2 {
		return false
	}
	if p.outdented(l) {
		p.lacking--
		p.lostBefore(l)
		return true
	}
	if p.open[len(p.open)-2].Kind == l.node.Kind {
		return false
	}
	if l.node.Kind == Array && (!p.atName() || p.closesLater(l) || p.lack() < 0) || l.node.Kind == Object &&
		p.tok.kind != openObject {
		return false
	}
	p.lostBefore(l)
	return true
}

// lack returns how many closing brackets the text lacks, less those that were reported; below 0, it lacks opening ones.
func (p *parser) lack() int {
	if !p.counted {
		p.lacking, p.counted = -balanceOf(p.text), true
	}
	return p.lacking
}

// outdented reports whether the item at tok is indented as one of the bracket around l, in a text that lacks closing
// brackets. The indentation of other texts says nothing.
func (p *parser) outdented(l *level) bool {
	if p.lack() <= 0 || p.open[len(p.open)-2].Kind == Object && !p.atName() {
		return false
	}
	indent, first := indentAt(p.text, p.tok.start)
	own, _ := indentAt(p.text, l.node.Span.Start)
	return first && strings.HasPrefix(own, indent) && strings.Contains(p.text[l.node.Span.Start:p.tok.start], "\n")
}

// lostBefore reports that l, or a bracket in it, lacks its closing bracket before tok.
func (p *parser) lostBefore(l *level) {
	p.forgiven = true
	if lost := findLost(p.text, l.node); lost != nil {
		p.lostBracket(lost, lost.Span.End-1)
		return
	}
	_, shut := l.node.Kind.brackets()
	next := p.tok.text
	if p.tok.kind == str {
		next = quoted(next)
	}
	p.neverClosed(l.node, fmt.Sprintf("write %s before %s", shut, next), "")
}

package jsontree

import (
	"fmt"
	"iter"
	"strings"
)

// openBrackets are the brackets around a token, outermost first.
type openBrackets []*Node

// innermost returns the innermost bracket of a kind, or nil.
func (o openBrackets) innermost(kind Kind) *Node {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].Kind == kind {
			return o[i]
		}
	}
	return nil
}

// closers returns their closing brackets, innermost first.
func (o openBrackets) closers() string {
	var all strings.Builder
	for i := len(o) - 1; i >= 0; i-- {
		_, shut := o[i].Kind.brackets()
		all.WriteString(shut)
	}
	return all.String()
}

// closes handles the closing bracket at tok. It returns true if the level ends here, even
// if the bracket belongs to an outer level.
func (p *parser) closes(l *level) bool {
	_, shut := l.node.Kind.brackets()
	if p.closesEarly(l) {
		p.lacking++
		p.report(p.tok.start, p.tok.end, "remove it", "%s closes too much", p.tok.text)
		p.advance()
		p.forgiven = true
		return false
	}
	if l.node.Kind == Object != (p.tok.kind == closeObject) {
		switch p.mismatch(l.node) {
		case strayBracket:
			p.report(p.tok.start, p.tok.end, "remove it", "%s closes nothing", p.tok.text)
			p.advance()
			p.forgiven = true
			return false
		case lostBracket:
			p.lostBracket(l.node, p.tok.start)
			return true
		}
		open, _ := l.node.Kind.brackets()
		line, _ := p.src.Position(l.node.Span.Start)
		p.report(p.tok.start, p.tok.end, "write "+shut, "%s cannot close the %s of line %d", p.tok.text, open, line)
		p.fix(shut)
	} else if l.commas > 0 && l.items == 0 {
		p.report(l.first.start, l.last.end, "remove it", "a comma without %ss", l.node.Kind.item())
		p.fix("")
	} else if l.commas > 0 {
		p.report(l.first.start, l.last.end, "remove it", "trailing %s before %s", trailing(l.first), shut)
		p.fix("")
	}
	p.advance()
	return true
}

// trailing names a surplus separator for messages.
func trailing(t token) string {
	if t.text == "," {
		return "comma"
	}
	return t.text
}

// bracketSlip is the meaning of a closing bracket of the wrong kind.
type bracketSlip uint8

const (
	wrongBracket bracketSlip = iota // ] was typed for } or the other way round
	lostBracket                     // the closing bracket before this one is missing
	strayBracket                    // this one is too much
)

// mismatch decides what a closing bracket of the wrong kind means for n. The indentation
// decides if the text has one; otherwise the following brackets decide.
func (p *parser) mismatch(n *Node) bracketSlip {
	kind := Array
	if p.tok.kind == closeObject {
		kind = Object
	}
	outer := p.open.innermost(kind)
	if indent, first := indentAt(p.text, p.tok.start); first {
		// The closing bracket has the indentation of n's line: only its kind is wrong.
		if own, _ := indentAt(p.text, n.Span.Start); own == indent {
			return wrongBracket
		}
		if outer != nil {
			if theirs, _ := indentAt(p.text, outer.Span.Start); theirs == indent {
				return lostBracket
			}
		}
	}
	if p.quiet {
		return wrongBracket
	}
	balance := balanceOf(p.text[p.pos:])
	switch {
	case balance >= len(p.open):
		return strayBracket
	case balance < len(p.open)-1 && outer != nil:
		return lostBracket
	}
	return wrongBracket
}

// lostBracket reports that n lacks its own closing bracket before the one at
// offset i.
func (p *parser) lostBracket(n *Node, i int) {
	open, shut := n.Kind.brackets()
	line, _ := p.src.Position(i)
	p.report(n.Span.Start, n.Span.Start+1, fmt.Sprintf("write %s before the %c on line %d", shut, p.text[i], line),
		"%s is never closed", open)
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

// indentAt returns the blanks at the start of the line of offset i, and whether only blanks
// precede i.
func indentAt(text string, i int) (blanks string, first bool) {
	line := text[strings.LastIndexByte(text[:i], '\n')+1:]
	rest := strings.TrimLeft(line, " \t")
	blanks = line[:len(line)-len(rest)]
	return blanks, len(line)-(len(text)-i) == len(blanks)
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

// outsideStrings yields the bytes of a text that are not in a string, with their offsets. A string ends with its line.
func outsideStrings(text string) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		inString := false
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c == '\\' && inString:
				i++
			case c == '"':
				inString = !inString
			case c == '\n':
				inString = false
			case !inString && !yield(i, c):
				return
			}
		}
	}
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
	open, _ := n.Kind.brackets()
	line, col := p.src.Position(len(p.text))
	more := ""
	if k := len(p.open) - 1; k > 0 {
		more = fmt.Sprintf(", nor are the %d brackets around it", k)
		if k == 1 {
			more = ", nor is the bracket around it"
		}
	}
	p.report(n.Span.Start, n.Span.Start+1, fmt.Sprintf("write %s at the end", p.open.closers()),
		"%s is never closed%s: the text ends at line %d, column %d", open, more, line, col)
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
	open, shut := l.node.Kind.brackets()
	next := p.tok.text
	if p.tok.kind == str {
		next = quoted(next)
	}
	p.report(l.node.Span.Start, l.node.Span.Start+1, fmt.Sprintf("write %s before %s", shut, next),
		"%s is never closed", open)
}

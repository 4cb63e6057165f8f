package jsontree

import "strings"

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

// separated checks the commas before the item at tok. If tok is not an item but a second
// value, it skips that and returns false.
func (p *parser) separated(l *level) bool {
	switch {
	case l.items == 0 && l.commas > 0:
		p.report(l.first.start, l.last.end, "remove it", "a comma before the first %s", l.node.Kind.item())
		p.fix("")
	case l.commas > 1:
		p.report(l.first.start, l.last.end, "remove one", "%d commas in a row", l.commas)
		p.fix(",")
	case l.commas == 1 && l.first.text != ",":
		p.report(l.first.start, l.first.end, "write a comma", "%s in place of a comma", l.first.text)
		p.fix(",")
	// One comma, or none before the first item, is correct.
	case l.commas > 0 || l.items == 0 || p.forgiven:
	case l.node.Kind == Object && !p.startsMember():
		p.report(p.tok.start, p.tok.end, "remove it, or put the values into [ ]", "a second value for one name")
		p.skip()
		return false
	default:
		p.report(p.end, p.end, "write a comma here", "missing comma")
		p.fix(",")
	}
	return true
}

// startsMember reports whether tok, without a comma before it, looks like a name.
func (s *scanner) startsMember() bool {
	line, _, _ := strings.Cut(s.text[s.end:s.tok.start], "\n")
	// A string on a line of its own is the next name, whose comma and colon may be
	// missing.
	newLine := len(line) < s.tok.start-s.end
	return (s.tok.kind == str || s.tok.kind == bareword) && (newLine || s.colonFollows())
}

// key reads the member's name at tok. Without a name it reports the slip, skips the member and
// returns false.
func (p *parser) key() (token, bool) {
	if p.members() {
		return token{}, false
	}
	switch p.tok.kind {
	case str:
		p.repairName()
	case bareword, number:
		if !p.nameWord() {
			return token{}, false
		}
	default:
		p.report(p.tok.start, p.tok.end, `write "name": before it`, "a value without a name")
		if p.tok.kind == colon {
			p.advance()
		}
		// The value of a missing name is skipped without further messages.
		quiet := p.quiet
		p.quiet = true
		p.value()
		p.quiet = quiet
		return token{}, false
	}
	key := p.tok
	p.advance()
	return key, true
}

// nameWord reads the word at tok as a name without quotes. It reports any other text once,
// and skips it up to the next comma.
func (p *parser) nameWord() bool {
	// half is true for a name such as image": "nginx", without its first quote.
	half := strings.HasPrefix(p.text[p.pos:], `"`) && nameEnds(p.text, p.pos+1)
	switch {
	case half:
		p.pos++
		p.tok.end++
		p.report(p.tok.start, p.tok.end, "write "+quoted(p.tok.text), "the name has no opening quote")
		p.fix(whole(p.tok.text))
	case p.colonFollows():
		p.report(p.tok.start, p.tok.end, "write "+quoted(p.tok.text), "the name %s has no quotes", clip(p.tok.text))
		p.fix(whole(p.tok.text))
	default:
		p.report(p.tok.start, p.tok.end, `write "name": value`, "%s is not a member", clip(p.tok.text))
		p.skip()
		return false
	}
	return true
}

// colon reads the colon between a name and its value. It returns false if there is no
// value.
func (p *parser) colon(l *level, key token) bool {
	switch p.tok.kind {
	case eof:
		return false
	case colon:
		if p.tok.text != ":" {
			p.report(p.tok.start, p.tok.end, "write a colon", "%s in place of a colon", p.tok.text)
			p.fix(":")
		}
		p.advance()
		return true
	case comma, closeObject, closeArray:
		if !l.reported { // { "a", "b" } is one slip
			p.report(key.start, key.end, "write "+quoted(key.text)+": and the value, or use [ ] for a list",
				"%s has no value", quoted(key.text))
		}
		l.reported = true
		return false
	}
	if p.atName() {
		p.forgiven = true
		p.noValue(key)
		return false
	}
	p.report(p.end, p.end, "write a colon here", "missing colon after %s", quoted(key.text))
	p.fix(":")
	return true
}

// noValue reports a name without a value.
func (p *parser) noValue(key token) {
	p.report(key.start, p.end, "write a value after the colon", "%s has no value", quoted(key.text))
}

// atName reports whether tok is not a value but the next member's name.
func (s *scanner) atName() bool {
	switch s.tok.kind {
	case str:
		return s.colonFollows()
	case bareword:
		// nginx:latest is a value, nginx: latest a member
		return s.colonFollows() && attached(s.text, s.pos) == s.pos
	}
	return false
}

// colonFollows reports whether a colon comes after tok.
func (s *scanner) colonFollows() bool {
	// Most strings are values, and end here without a scan.
	if s.pos < len(s.text) && (s.text[s.pos] == ',' || s.text[s.pos] == '\n') {
		return false
	}
	return nameEnds(s.text, s.pos)
}

// skip skips the rest of an item that is already reported.
func (p *parser) skip() {
	quiet := p.quiet
	p.quiet = true
	// The item ends at a comma or a closing bracket of its own level.
	for depth := 0; p.tok.kind != eof; p.advance() {
		switch p.tok.kind {
		case openObject, openArray:
			depth++
		case closeObject, closeArray:
			depth--
		case comma:
			if depth == 0 {
				depth = -1
			}
		}
		if depth < 0 {
			break
		}
	}
	p.quiet = quiet
}

// finish reports text after the document.
func (p *parser) finish(root *Node) {
	start, end := p.tok.start, p.tok.end
	switch {
	case p.done:
	case root == nil && p.tok.kind == eof:
		p.report(start, end, "write at least { }", "the file contains no value")
	case p.tok.kind == eof:
	case p.tok.kind == closeObject || p.tok.kind == closeArray:
		p.report(start, end, "remove it, or an earlier bracket that closes too much", "%s closes nothing", p.tok.text)
	case root == nil:
		p.report(start, end, "begin with {", "unexpected %s before the document", p.tok.text)
	case p.tok.kind == openObject || p.tok.kind == openArray:
		p.report(start, end, "keep one document per file", "a second document begins here")
	case p.tok.kind == comma:
		p.report(start, end, "remove it and what follows, or an earlier bracket that closes too much",
			"%s after the end of the document", p.tok.text)
	default:
		p.report(start, end, "remove it, or an earlier bracket that closes too much",
			"text after the end of the document")
	}
}

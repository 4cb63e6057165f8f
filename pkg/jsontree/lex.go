package jsontree

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	eof tokenKind = iota
	comma
	colon
	openObject
	openArray
	closeObject
	closeArray
	str
	number
	bareword // anything else: true, None, 08, nginx
)

// token is a piece of the text. A slip that is visible in the token alone is reported when
// it is read. A word is checked in its context.
type token struct {
	kind tokenKind
	// start and end are the byte offsets of the token, with its quotes.
	start, end int
	// text is the decoded string; for other tokens the text as written.
	text string
	// unclosed marks a string that ends with its line.
	unclosed bool
}

// advance reads the next token into tok.
func (p *parser) advance() {
	p.end = p.tok.end
	p.blanks()
	p.tok = token{kind: eof, start: p.pos, end: p.pos}
	if p.pos < len(p.text) {
		p.scan()
	}
	if p.done {
		p.tok = token{kind: eof, start: p.pos, end: p.pos}
	}
}

// scan reads a token that begins at pos. A semicolon counts as a comma, because authors
// confuse them; a message follows.
func (p *parser) scan() {
	switch c := p.text[p.pos]; c {
	case '"':
		p.string()
	case ',', ';':
		p.take(comma, 1)
	case ':':
		p.take(colon, 1)
	case '{':
		p.take(openObject, 1)
	case '}':
		p.take(closeObject, 1)
	case '[':
		p.take(openArray, 1)
	case ']':
		p.take(closeArray, 1)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if n := numberLen(p.text[p.pos:]); n > 0 && endsWord(p.text, p.pos+n) {
			p.take(number, n)
			return
		}
		p.oddity()
	default:
		p.oddity()
	}
}

// take makes the next n bytes the token.
func (p *parser) take(kind tokenKind, n int) {
	p.tok = token{kind: kind, start: p.pos, end: p.pos + n, text: p.text[p.pos : p.pos+n]}
	p.pos += n
}

// oddity reads a token that is neither punctuation, a string nor a number of JSON.
func (p *parser) oddity() {
	rest := p.text[p.pos:]
	switch r, size := utf8.DecodeRuneInString(rest); {
	case strings.HasPrefix(rest, "=>"), strings.HasPrefix(rest, "->"):
		p.take(colon, 2)
	case r == '=':
		p.take(colon, 1)
	case r == '，' || r == '、' || r == '；':
		p.take(comma, size)
	case r == '：':
		p.take(colon, size)
	case r == '(':
		p.parens++
		p.take(openArray, 1)
		p.report(p.tok.start, p.tok.end, "write [ ] in place of ( )", "( ) are not JSON brackets")
	case r == ')' && p.parens > 0:
		p.parens--
		p.take(closeArray, 1)
	case r == '\'' || r == '`' || isQuote(r):
		p.foreignString(r, size)
	default:
		p.take(bareword, max(wordLen(rest), size))
	}
}

// blanks skips white space, and characters that look like it.
func (p *parser) blanks() {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			p.pos++
		case c == '#' || c == '/':
			if !p.comment() {
				return
			}
		case c < 0x20 || c >= 0x7f:
			if !p.oddBlank() {
				return
			}
		default:
			return
		}
	}
}

// comment skips a comment, or several in a row.
func (p *parser) comment() bool {
	start, end := p.pos, p.pos
	for {
		n := commentLen(p.text[p.pos:])
		if n == 0 {
			break
		}
		if n < 0 {
			p.report(start, start+2, "remove it", "comment /* without */; JSON has no comments")
			p.stop()
			return true
		}
		end = p.pos + n
		p.pos = end
		for p.pos < len(p.text) && isBlank(p.text[p.pos]) {
			p.pos++
		}
	}
	if end > start {
		p.report(start, end, `remove it, or make it a member "$comment"`, "JSON has no comments")
	}
	return end > start
}

// commentLen returns the length of the comment at the start of s: 0 without a comment, -1 if
// it is not closed.
func commentLen(s string) int {
	switch {
	case strings.HasPrefix(s, "#"), strings.HasPrefix(s, "//"):
		if n := strings.IndexAny(s, "\r\n"); n >= 0 {
			return n
		}
		return len(s)
	case strings.HasPrefix(s, "/*"):
		if n := strings.Index(s[2:], "*/"); n >= 0 {
			return n + 4
		}
		return -1
	}
	return 0
}

// oddBlank skips a run of characters that look like white space but are not white space in
// JSON, or that are not characters at all.
func (p *parser) oddBlank() bool {
	start := p.pos
	first, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	for p.pos < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.pos:])
		if !isOddBlank(r, size) {
			break
		}
		p.pos += size
	}
	switch {
	case p.pos == start:
		return false
	case first == utf8.RuneError:
		p.invalidUTF8(start)
	case unicode.IsSpace(first):
		p.report(start, p.pos, "write an ordinary space", "space U+%04X outside a string", first)
	default:
		p.report(start, p.pos, "remove it", "invisible character U+%04X outside a string", first)
	}
	return true
}

// isOddBlank reports whether a character is invisible: white space of Unicode, a control
// or format character, or an invalid byte.
func isOddBlank(r rune, size int) bool {
	if r == utf8.RuneError && size <= 1 {
		return true
	}
	if r < utf8.RuneSelf && isBlank(byte(r)) {
		return false
	}
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// endsWord reports whether a number or word may end at offset i.
func endsWord(s string, i int) bool {
	if i >= len(s) || isBlank(s[i]) || s[i] == '/' && commentLen(s[i:]) != 0 {
		return true
	}
	if s[i] >= utf8.RuneSelf {
		r, size := utf8.DecodeRuneInString(s[i:])
		return isOddBlank(r, size) || isQuote(r) || strings.ContainsRune("，、；：", r)
	}
	return s[i] < 0x20 || strings.IndexByte(`,:;={}[]()"`, s[i]) >= 0
}

// wordLen returns the length of the run of word characters at the start of s.
func wordLen(s string) int {
	for i := range s {
		if endsWord(s, i) {
			return i
		}
	}
	return len(s)
}

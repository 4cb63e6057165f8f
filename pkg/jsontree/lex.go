package jsontree

import (
	"fmt"
	"iter"
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

// scanner cuts a text with slips into tokens. It can also end the current token elsewhere,
// because some slips become visible only in the context that the parser knows.
type scanner struct {
	problems
	text   string
	pos    int   // the first byte after tok
	tok    token // the next token to read
	end    int   // the end of the token before tok
	parens int   // how many ( were read as [

	notUTF8 bool // the file's encoding is reported already
}

// report adds a slip. After too many of them, the scanner stops.
func (s *scanner) report(start, end int, hint, format string, args ...any) {
	s.add(RuleSyntax, start, end, hint, fmt.Sprintf(format, args...))
}

// replace adds a slip from one token to another, with the text to write in their place.
func (s *scanner) replace(from, to token, text, hint, format string, args ...any) {
	s.report(from.start, to.end, hint, format, args...)
	s.fix(text)
}

// add adds a problem of a rule.
func (s *scanner) add(rule string, start, end int, hint, message string) {
	if s.record(rule, start, end, hint, message) {
		s.stop()
	}
}

// stop skips the rest of the text.
func (s *scanner) stop() {
	s.done = true
	s.pos = len(s.text)
	s.tok.kind = eof
}

// advance reads the next token into tok.
func (s *scanner) advance() {
	s.end = s.tok.end
	s.blanks()
	s.tok = token{kind: eof, start: s.pos, end: s.pos}
	if s.pos < len(s.text) {
		s.scan()
	}
	if s.done {
		s.tok = token{kind: eof, start: s.pos, end: s.pos}
	}
}

// scan reads a token that begins at pos. A semicolon counts as a comma, because authors
// confuse them; a message follows.
func (s *scanner) scan() {
	switch c := s.text[s.pos]; c {
	case '"':
		s.string()
	case ',', ';':
		s.take(comma, 1)
	case ':':
		s.take(colon, 1)
	case '{':
		s.take(openObject, 1)
	case '}':
		s.take(closeObject, 1)
	case '[':
		s.take(openArray, 1)
	case ']':
		s.take(closeArray, 1)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if n := numberLen(s.text[s.pos:]); n > 0 && endsWord(s.text, s.pos+n) {
			s.take(number, n)
			return
		}
		s.oddity()
	default:
		s.oddity()
	}
}

// take makes the next n bytes the token.
func (s *scanner) take(kind tokenKind, n int) {
	s.tok = token{kind: kind, start: s.pos, end: s.pos + n, text: s.text[s.pos : s.pos+n]}
	s.pos += n
}

// oddity reads a token that is neither punctuation, a string nor a number of JSON.
func (s *scanner) oddity() {
	rest := s.text[s.pos:]
	switch r, size := utf8.DecodeRuneInString(rest); {
	case strings.HasPrefix(rest, "=>"), strings.HasPrefix(rest, "->"):
		s.take(colon, 2)
	case r == '=':
		s.take(colon, 1)
	case r == '，' || r == '、' || r == '；':
		s.take(comma, size)
	case r == '：':
		s.take(colon, size)
	case r == '(':
		s.parens++
		s.take(openArray, 1)
		s.report(s.tok.start, s.tok.end, "write [ ] in place of ( )", "( ) are not JSON brackets")
	case r == ')' && s.parens > 0:
		s.parens--
		s.take(closeArray, 1)
	case r == '\'' || r == '`' || isQuote(r):
		s.foreignString(r, size)
	default:
		s.take(bareword, max(wordLen(rest), size))
	}
}

// blanks skips white space, and characters that look like it.
func (s *scanner) blanks() {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			s.pos++
		case c == '#' || c == '/':
			if !s.comment() {
				return
			}
		case c < 0x20 || c >= 0x7f:
			if !s.oddBlank() {
				return
			}
		default:
			return
		}
	}
}

// comment skips a comment, or several in a row.
func (s *scanner) comment() bool {
	start, end := s.pos, s.pos
	for {
		n := commentLen(s.text[s.pos:])
		if n == 0 {
			break
		}
		if n < 0 {
			s.report(start, start+2, "remove it", "comment /* without */; JSON has no comments")
			s.stop()
			return true
		}
		end = s.pos + n
		s.pos = end
		for s.pos < len(s.text) && isBlank(s.text[s.pos]) {
			s.pos++
		}
	}
	if end > start {
		s.report(start, end, `remove it, or make it a member "$comment"`, noComments)
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
func (s *scanner) oddBlank() bool {
	start := s.pos
	first, _ := utf8.DecodeRuneInString(s.text[s.pos:])
	for s.pos < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.pos:])
		if !isOddBlank(r, size) {
			break
		}
		s.pos += size
	}
	switch {
	case s.pos == start:
		return false
	case first == utf8.RuneError:
		s.invalidUTF8(start)
	case unicode.IsSpace(first):
		s.report(start, s.pos, "write an ordinary space", "space U+%04X outside a string", first)
	default:
		s.report(start, s.pos, "remove it", "invisible character U+%04X outside a string", first)
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

// numberLen returns the length of the number at the start of s (RFC 8259, section 6), or 0.
func numberLen(s string) int {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	n := digits(s[i:])
	if n == 0 || n > 1 && s[i] == '0' {
		return 0
	}
	i += n
	if i < len(s) && s[i] == '.' {
		n = digits(s[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		n = digits(s[j:])
		if n == 0 {
			return 0
		}
		i = j + n
	}
	return i
}

// digits returns the number of digits at the start of s.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

func isNumber(s string) bool { return s != "" && numberLen(s) == len(s) }

// attached returns the end of the characters at offset i that continue a word without white
// space: nginx:latest, s3://bucket/key, a=b, ${HOME}.
func attached(text string, i int) int {
	for i+1 < len(text) && !isBlank(text[i+1]) {
		switch c := text[i]; {
		case c == '{' && text[i-1] == '$':
			n := strings.IndexAny(text[i:], "}\n")
			if n < 0 || text[i+n] == '\n' {
				return i
			}
			i += n + 1
		case (c == ':' || c == '=') && strings.IndexByte(`"'{[,`, text[i+1]) < 0:
			i++
			for i < len(text) && (text[i] == '/' || !endsWord(text, i)) {
				_, size := utf8.DecodeRuneInString(text[i:])
				i += size
			}
		default:
			return i + wordLen(text[i:])
		}
	}
	return i
}

func isConstant(s string) bool {
	return s == "true" || s == "false" || s == "null" || isNumber(s)
}

// nameEnds reports whether the word that ends at offset i is a member's name:
// a colon or an equals sign follows.
func nameEnds(s string, i int) bool {
	rest := strings.TrimLeft(s[i:min(len(s), i+32)], " \t")
	return strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=")
}

// fieldEnd returns where the field that begins at an offset ends.
func fieldEnd(text string, at int) int {
	for at < len(text) && isFieldByte(text[at]) {
		at++
	}
	return at
}

func isFieldByte(c byte) bool { return c == '-' || isNameByte(c) }

// isNameByte reports whether a byte can continue a word.
func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// indentAt returns the blanks at the start of the line of offset i, and whether only blanks
// precede i.
func indentAt(text string, i int) (blanks string, first bool) {
	line := text[strings.LastIndexByte(text[:i], '\n')+1:]
	rest := strings.TrimLeft(line, " \t")
	blanks = line[:len(line)-len(rest)]
	return blanks, len(line)-(len(text)-i) == len(blanks)
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

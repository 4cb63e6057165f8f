package insights

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError is a query that cannot be run. Start and End count characters.
type SyntaxError struct {
	Start, End int
	Message    string
}

// Error returns the message.
func (e *SyntaxError) Error() string { return e.Message }

// lexer reads the parts of a query. Whether a slash begins a regular expression depends on the grammar, so the parser
// asks for what may come next.
type lexer struct {
	text string
	pos  int
	// blankStart and blankEnd are where the last white space was.
	blankStart, blankEnd int
}

// failAt returns an error about a part of the query, in bytes.
func (l *lexer) failAt(start, end int, format string, args ...any) error {
	return &SyntaxError{utf8.RuneCountInString(l.text[:start]), utf8.RuneCountInString(l.text[:end]),
		fmt.Sprintf(format, args...)}
}

// unexpected returns the error for the next part of the query, in the words of CloudWatch.
func (l *lexer) unexpected() error {
	l.blanks()
	start := l.pos
	part := l.peekWord()
	if part == "" {
		_, size := utf8.DecodeRuneInString(l.text[start:])
		part = l.text[start : start+size]
	}
	if part == "" {
		return l.failAt(start, start, "unexpected end of the query")
	}
	line := strings.Count(l.text[:start], "\n") + 1
	column := utf8.RuneCountInString(l.text[strings.LastIndexByte(l.text[:start], '\n')+1 : start])
	return l.failAt(start, start+len(part), "unexpected symbol found %s at line %d and position %d", part, line, column)
}

// blanks skips white space and comments.
func (l *lexer) blanks() {
	start := l.pos
	defer func() {
		if l.pos > start {
			l.blankStart, l.blankEnd = start, l.pos
		}
	}()
	for l.pos < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.pos:])
		switch {
		case r == '#':
			end := strings.IndexByte(l.text[l.pos:], '\n')
			if end < 0 {
				end = len(l.text) - l.pos
			}
			l.pos += end
		case unicode.IsSpace(r):
			l.pos += size
		default:
			return
		}
	}
}

// before returns where the part of the query ended that was read last.
func (l *lexer) before() int {
	l.blanks()
	if l.blankEnd == l.pos {
		return l.blankStart
	}
	return l.pos
}

// ended reports whether nothing comes after blanks.
func (l *lexer) ended() bool {
	l.blanks()
	return l.pos == len(l.text)
}

// peekWord returns the word of letters, digits, @, _ and . that comes next; empty if another character does.
func (l *lexer) peekWord() string {
	l.blanks()
	end := l.pos
	for end < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[end:])
		if r != '@' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		end += size
	}
	return l.text[l.pos:end]
}

// keyword skips a keyword. It reports false if another word comes next. Case is ignored.
func (l *lexer) keyword(word string) bool {
	if next := l.peekWord(); !strings.EqualFold(next, word) {
		return false
	}
	l.pos += len(word)
	return true
}

// symbol skips a symbol, if it comes next.
func (l *lexer) symbol(s string) bool {
	l.blanks()
	if !strings.HasPrefix(l.text[l.pos:], s) {
		return false
	}
	l.pos += len(s)
	return true
}

// want skips a symbol, or returns an error.
func (l *lexer) want(s string) error {
	if !l.symbol(s) {
		return l.unexpected()
	}
	return nil
}

// quoted reads a text in single or double quotes; ok is false if none comes next. A backslash escapes a quote or a
// backslash. Before other characters it stays.
func (l *lexer) quoted() (s string, ok bool, err error) {
	l.blanks()
	if l.pos == len(l.text) || l.text[l.pos] != '"' && l.text[l.pos] != '\'' {
		return "", false, nil
	}
	quote, start := l.text[l.pos], l.pos
	var b strings.Builder
	for l.pos++; l.pos < len(l.text); l.pos++ {
		c := l.text[l.pos]
		if c == quote {
			l.pos++
			return b.String(), true, nil
		}
		if c == '\\' && l.pos+1 < len(l.text) && strings.IndexByte(`"'\`, l.text[l.pos+1]) >= 0 {
			l.pos++
			c = l.text[l.pos]
		}
		b.WriteByte(c)
	}
	return "", false, l.failAt(start, len(l.text), "a quoted text does not end")
}

// pattern reads a regular expression between slashes; ok is false if none comes next.
func (l *lexer) pattern() (s string, start int, ok bool, err error) {
	l.blanks()
	start = l.pos
	if l.pos == len(l.text) || l.text[l.pos] != '/' {
		return "", start, false, nil
	}
	var b strings.Builder
	for l.pos++; l.pos < len(l.text); l.pos++ {
		switch c := l.text[l.pos]; {
		case c == '/':
			l.pos++
			return b.String(), start, true, nil
		case c == '\\' && l.pos+1 < len(l.text):
			l.pos++
			if l.text[l.pos] != '/' {
				b.WriteByte(c)
			}
			b.WriteByte(l.text[l.pos])
		default:
			b.WriteByte(c)
		}
	}
	return "", start, false, l.failAt(start, len(l.text), "a regular expression does not end")
}

// regexp reads a regular expression.
func (l *lexer) regexp() (*regexp.Regexp, error) {
	s, start, ok, err := l.pattern()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, l.unexpected()
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, l.failAt(start, l.pos, "the local engine cannot use the regular expression: %v", err)
	}
	return re, nil
}

// reserved are the words that are fields only in backquotes.
var reserved = []string{"and", "as", "asc", "by", "desc", "in", "like", "not", "or"}

// isReserved reports whether a word is reserved.
func isReserved(word string) bool {
	for _, r := range reserved {
		if strings.EqualFold(r, word) {
			return true
		}
	}
	return false
}

// name reads the name of a field, whose parts may be in backquotes; empty if none comes next.
func (l *lexer) name() (string, error) {
	word := l.peekWord()
	if isReserved(word) {
		return "", nil
	}
	if word != "" {
		if r, _ := utf8.DecodeRuneInString(word); r == '.' || unicode.IsDigit(r) {
			return "", nil
		}
	}
	var b strings.Builder
	for first := true; ; first = false {
		if !first || word != "" { // no blank within a name
			part := l.text[l.pos:]
			end := strings.IndexFunc(part, func(r rune) bool {
				return r != '@' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
			})
			if end < 0 {
				end = len(part)
			}
			b.WriteString(part[:end])
			l.pos += end
		}
		if !strings.HasPrefix(l.text[l.pos:], "`") || b.Len() > 0 && !strings.HasSuffix(b.String(), ".") {
			return b.String(), nil
		}
		end := strings.IndexByte(l.text[l.pos+1:], '`')
		if end <= 0 {
			return "", l.failAt(l.pos, len(l.text), "a name in backquotes does not end, or is empty")
		}
		b.WriteString(l.text[l.pos+1 : l.pos+1+end])
		l.pos += end + 2
	}
}

// names reads "as a, b".
func (l *lexer) names() (names []string, err error) {
	if !l.keyword("as") {
		return nil, l.unexpected()
	}
	for first := true; first || l.symbol(","); first = false {
		name, err := l.name()
		if err != nil {
			return nil, err
		}
		if name == "" {
			return nil, l.unexpected()
		}
		names = append(names, name)
	}
	return names, nil
}

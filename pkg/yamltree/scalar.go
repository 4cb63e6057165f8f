package yamltree

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// ByteSpans returns the location of each byte of a string's text in its source. The string
// may be quoted as in YAML or JSON, plain, or a literal or folded block with indentation
// and line breaks between the bytes. If the text differs from the source at the string's
// span, all bytes have the whole span. It returns nil for anything but a string in a file.
func ByteSpans(n *jsontree.Node) []diag.Span {
	if !n.Is(jsontree.String) || n.Source == nil {
		return nil
	}
	if r, ok := read(n.Source.Text, n.Span.Start, n.Text, true); ok {
		return r.at
	}
	at := make([]diag.Span, len(n.Text))
	for i := range at {
		at[i] = n.Span
	}
	return at
}

// read reads the scalar at start; the library has determined its value. It returns false
// if the results differ. It records locations only if spans is true.
func read(text string, start int, value string, spans bool) (*reader, bool) {
	if start >= len(text) {
		return &reader{pos: start}, value == ""
	}
	switch text[start] {
	case '|', '>':
		for _, indent := range indents(text, start) {
			r := &reader{text: text, pos: start, want: value, spans: spans}
			if r.block(indent); r.done() {
				return r, true
			}
		}
	case '"', '\'':
		r := &reader{text: text, pos: start + 1, want: value, spans: spans, narrow: true}
		// The breaks of JSON are tried first, then all breaks of YAML.
		if r.quoted(text[start]); !r.done() {
			r = &reader{text: text, pos: start + 1, want: value, spans: spans}
			r.quoted(text[start])
		}
		return r, r.done()
	}
	// Includes text that begins with | or > in flow style, where these are characters.
	r := &reader{text: text, pos: start, want: value, spans: spans}
	r.plain()
	return r, r.done()
}

// reader compares the source of a scalar with its value, and stops at a difference.
type reader struct {
	text string
	pos  int    // in text
	want string // the whole value
	n    int    // bytes of it read so far
	// lost is true after a difference between the text and the value.
	lost  bool
	spans bool
	// narrow treats only the line breaks of ASCII as breaks, as in JSON, where the others
	// are characters.
	narrow bool
	// at holds the location of each byte read so far, if spans is true.
	at []diag.Span
}

func (r *reader) done() bool { return !r.lost && r.n == len(r.want) }

// emit records that the source from start to end is the text s.
func (r *reader) emit(s string, start, end int) {
	// After the first difference, nothing else counts.
	if r.lost || !strings.HasPrefix(r.want[r.n:], s) {
		r.lost = true
		return
	}
	r.n += len(s)
	if !r.spans {
		return
	}
	for i := range len(s) {
		span := diag.Span{Start: start, End: end}
		if end-start == len(s) {
			span = diag.Span{Start: start + i, End: start + i + 1}
		}
		r.at = append(r.at, span)
	}
}

// lineBreak returns the text and the size of a line break at i; 0 for none. These are the
// breaks of YAML 1.1, by which the library counts lines.
func lineBreak(text string, i int) (as string, size int) {
	switch rest := text[i:]; {
	case strings.HasPrefix(rest, "\r\n"):
		return "\n", 2
	case rest == "":
		return "", 0
	case rest[0] == '\n' || rest[0] == '\r':
		return "\n", 1
	case strings.HasPrefix(rest, "\u0085"):
		return "\n", 2
	case strings.HasPrefix(rest, "\u2028") || strings.HasPrefix(rest, "\u2029"):
		return rest[:3], 3
	}
	return "", 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// broken is a line break in a scalar that folding has not yet written.
type broken struct {
	as         string
	start, end int
}

// fold reads white space in a plain or quoted scalar. Spaces within a line stay. A line
// break becomes a space, or, if empty lines follow, the line breaks of those. With joined,
// a backslash has removed the first break.
func (r *reader) fold(joined bool) {
	blanks := r.pos
	var first *broken
	var more []broken
	for r.pos < len(r.text) {
		if isBlank(r.text[r.pos]) {
			r.pos++
			continue
		}
		as, size := r.lineBreak()
		if size == 0 {
			break
		}
		b := broken{as, r.pos, r.pos + size}
		if first == nil && !joined {
			first = &b
		} else {
			more = append(more, b)
		}
		r.pos += size
	}
	switch {
	case first == nil && !joined:
		r.emit(r.text[blanks:r.pos], blanks, r.pos)
		return
	case first != nil && first.as != "\n":
		r.emit(first.as, first.start, first.end)
	case first != nil && len(more) == 0:
		r.emit(" ", first.start, r.pos)
	}
	for _, b := range more {
		r.emit(b.as, b.start, b.end)
	}
}

// space reports whether there is white space at the position.
func (r *reader) space() bool {
	_, size := r.lineBreak()
	return size > 0 || isBlank(r.text[r.pos])
}

// lineBreak returns the break at the position.
func (r *reader) lineBreak() (as string, size int) {
	if r.narrow && r.pos < len(r.text) && r.text[r.pos] >= utf8.RuneSelf {
		return "", 0
	}
	return lineBreak(r.text, r.pos)
}

// plain reads a scalar without quotes, which ends where its value does.
func (r *reader) plain() {
	for r.n < len(r.want) && !r.lost && r.pos < len(r.text) {
		if r.space() {
			r.fold(false)
			continue
		}
		r.letter()
	}
}

// letter reads one character that is text.
func (r *reader) letter() {
	_, size := utf8.DecodeRuneInString(r.text[r.pos:])
	r.emit(r.text[r.pos:r.pos+size], r.pos, r.pos+size)
	r.pos += size
}

// quoted reads up to and including the closing quote.
func (r *reader) quoted(quote byte) {
	for !r.lost && r.pos < len(r.text) {
		switch c := r.text[r.pos]; {
		case c == '\'' && quote == '\'' && strings.HasPrefix(r.text[r.pos:], "''"):
			r.emit("'", r.pos, r.pos+2)
			r.pos += 2
		case c == quote:
			r.pos++
			return
		case c == '\\' && quote == '"':
			r.escape()
		case r.space():
			r.fold(false)
		default:
			r.letter()
		}
	}
	r.lost = true
}

// escapes are those of one letter.
var escapes = map[byte]string{'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f",
	'r': "\r", 'e': "\x1b", ' ': " ", '"': `"`, '\'': "'",
	'/': "/", '\\': `\`, 'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029"}

// escape reads an escape sequence.
func (r *reader) escape() {
	start := r.pos
	if r.pos++; r.pos == len(r.text) {
		r.lost = true
		return
	}
	if _, size := r.lineBreak(); size > 0 {
		r.pos += size
		r.fold(true)
		return
	}
	c := r.text[r.pos]
	r.pos++
	if s, ok := escapes[c]; ok {
		r.emit(s, start, r.pos)
		return
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	code, ok := r.hex(digits)
	// JSON writes a character beyond U+FFFF as two escapes, the surrogates of UTF-16.
	if pos := r.pos; ok && utf16.IsSurrogate(code) && strings.HasPrefix(r.text[pos:], `\u`) {
		r.pos += 2
		if low, ok := r.hex(4); ok && utf16.DecodeRune(code, low) != utf8.RuneError {
			code = utf16.DecodeRune(code, low)
		} else {
			r.pos = pos
		}
	}
	if !ok {
		r.lost = true
		return
	}
	r.emit(string(code), start, r.pos)
}

// hex reads the value of an escape with this number of hexadecimal digits.
func (r *reader) hex(digits int) (rune, bool) {
	if digits == 0 || r.pos+digits > len(r.text) {
		return 0, false
	}
	v, err := strconv.ParseUint(r.text[r.pos:r.pos+digits], 16, 32)
	r.pos += digits
	return rune(v), err == nil
}

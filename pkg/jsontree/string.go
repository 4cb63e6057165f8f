package jsontree

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads the string whose opening quote is at pos.
func (s *scanner) string() {
	start := s.pos
	var high byte
	for i := start + 1; i < len(s.text); i++ {
		c := s.text[i]
		if c == '"' {
			if high >= utf8.RuneSelf && !utf8.ValidString(s.text[start+1:i]) {
				break
			}
			s.tok = token{kind: str, start: start, end: i + 1, text: s.text[start+1 : i]}
			s.pos = i + 1
			return
		}
		if c == '\\' || c < 0x20 {
			break
		}
		high |= c
	}
	d := decoder{s: s, start: start, pos: start + 1, quote: '"'}
	d.run()
	s.tok = token{kind: str, start: start, end: d.pos, text: string(d.out), unclosed: d.unclosed}
	s.pos = d.pos
}

// decoder reads a string that contains escapes or slips.
type decoder struct {
	s     *scanner
	start int // the opening quote
	pos   int
	quote rune // the opening quote
	known int  // there is a closing quote here, after several line breaks
	// out is the decoded text so far.
	out      []byte
	unclosed bool
	reported [4]bool // which slips are reported: one of each kind per string
}

// The kinds of slips inside a string.
const (
	slipEscape = iota
	slipControl
	slipBreak
	slipSurrogate
)

// slip reports a slip, once for each kind in a string.
func (d *decoder) slip(kind, start, end int, hint, format string, args ...any) {
	if !d.reported[kind] {
		d.s.report(start, end, hint, format, args...)
	}
	d.reported[kind] = true
}

// run reads up to and including the closing quote.
func (d *decoder) run() {
	text := d.s.text
	for d.pos < len(text) {
		c := text[d.pos]
		switch {
		case c == '\\':
			d.escape()
		case c == '\n' || c == '\r':
			if !d.breaks() {
				d.cut()
				return
			}
		case c < 0x20:
			d.slip(slipControl, d.pos, d.pos+1, fmt.Sprintf("write %s", jsonEscape(c)),
				"control character U+%04X in a string", c)
			d.out = append(d.out, c)
			d.pos++
		default:
			r, size := utf8.DecodeRuneInString(text[d.pos:])
			if closesQuote(d.quote, r) {
				d.pos += size
				return
			}
			if r == utf8.RuneError && size == 1 {
				d.s.invalidUTF8(d.pos)
			}
			d.out = utf8.AppendRune(d.out, r)
			d.pos += size
		}
	}
	d.cut()
}

// breaks reports whether the string continues after the line break at pos, and skips the
// break if it does: the next quote is then a closing one.
func (d *decoder) breaks() bool {
	rest := d.s.text[d.pos:]
	if d.pos > d.known {
		n := strings.IndexRune(rest, closing(d.quote))
		if n < 0 || !endsValue(rest[n+utf8.RuneLen(closing(d.quote)):]) {
			return false
		}
		d.known = d.pos + n
	}
	size := 1
	if strings.HasPrefix(rest, "\r\n") {
		size = 2
	}
	d.slip(slipBreak, d.pos, d.pos, `write \n in place of the line break`, "line break in a string")
	d.out = append(d.out, rest[:size]...)
	d.pos += size
	return true
}

// endsValue reports whether s can follow a value: a comma, a colon, a closing bracket, or
// the end of the line.
func endsValue(s string) bool {
	s = strings.TrimLeft(s, " \t\r")
	return s == "" || strings.IndexByte(",:]}\n", s[0]) >= 0
}

// cut ends a string without a closing quote at the end of its line, before the commas and
// closing brackets there that belong outside.
func (d *decoder) cut() {
	_, size := utf8.DecodeRuneInString(d.s.text[d.start:])
	body := d.start + size
	line := d.s.text[body:d.pos]
	if n := strings.IndexFunc(line, isQuote); n >= 0 && d.quote == '"' {
		r, size := utf8.DecodeRuneInString(line[n:])
		if endsValue(line[n+size:]) {
			end := body + n
			d.s.report(end, end+size, fmt.Sprintf(`write " in place of %c`, r), "the string is closed by %c", r)
			d.pos, d.out = end+size, []byte(strings.ToValidUTF8(line[:n], "\ufffd"))
			return
		}
	}
	outside := " \t,;"
	if !strings.Contains(line, "[") {
		outside += "]"
	}
	if !strings.Contains(line, "{") {
		outside += "}"
	}
	end := strings.TrimRight(line, outside)
	at := body + len(end)
	d.pos, d.unclosed = at, true
	d.out = d.out[:len(d.out)-(len(line)-len(end))] // the part that is removed has no escapes
	d.s.report(d.start, at, fmt.Sprintf("write %c at the end", closing(d.quote)), "the string is not closed")
}

// escape reads the escape at pos.
func (d *decoder) escape() {
	text, start := d.s.text, d.pos
	if start+1 == len(text) || text[start+1] == '\n' || text[start+1] == '\r' {
		d.pos++
		return // the line break is the slip
	}
	c := text[start+1]
	d.pos += 2
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		d.out = append(d.out, "\"\\/\b\f\n\r\t"[i])
		return
	}
	switch {
	case c == 'u':
		d.unicode(start)
	case c == '\'' && d.quote == '\'', c == '`' && d.quote == '`':
		d.out = append(d.out, c)
	case c == '\'' || c == '`':
		d.slip(slipEscape, start, d.pos, fmt.Sprintf("write %c alone", c), `\%c is not a JSON escape`, c)
		d.out = append(d.out, c)
	case c == 'x' && hexLen(text[d.pos:], 2) == 2:
		v, _ := strconv.ParseUint(text[d.pos:d.pos+2], 16, 8)
		d.pos += 2
		d.slip(slipEscape, start, d.pos, fmt.Sprintf(`write \u%04x`, v), `%s is not a JSON escape`, text[start:d.pos])
		d.out = utf8.AppendRune(d.out, rune(v))
	default:
		r, size := utf8.DecodeRuneInString(text[start+1:])
		d.pos = start + 1 + size
		d.slip(slipEscape, start, d.pos, `write \\ for a backslash`, `\%c is not a JSON escape`, r)
		d.out = utf8.AppendRune(append(d.out, '\\'), r)
	}
}

// unicode reads the rest of a \u escape that began at start.
func (d *decoder) unicode(start int) {
	text := d.s.text
	if n := hexLen(text[d.pos:], 4); n < 4 {
		d.pos += n
		d.slip(slipEscape, start, d.pos, `write \u and four digits, or \\ for a backslash`,
			`\u needs four hexadecimal digits`)
		d.out = append(d.out, text[start:d.pos]...)
		return
	}
	r := hex4(text[d.pos:])
	d.pos += 4
	if utf16.IsSurrogate(r) {
		if rest := text[d.pos:]; strings.HasPrefix(rest, `\u`) && hexLen(rest[2:], 4) == 4 {
			if pair := utf16.DecodeRune(r, hex4(rest[2:])); pair != utf8.RuneError {
				d.pos += 6
				d.out = utf8.AppendRune(d.out, pair)
				return
			}
		}
		d.slip(slipSurrogate, start, d.pos, `write both halves, or the character itself`,
			`%s is half of a surrogate pair`, text[start:d.pos])
	}
	d.out = utf8.AppendRune(d.out, r)
}

// hexLen counts the hexadecimal digits at the start of s, up to limit.
func hexLen(s string, limit int) int {
	n := 0
	for n < limit && n < len(s) && isHex(s[n]) {
		n++
	}
	return n
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// hex4 returns the value of four hexadecimal digits.
func hex4(s string) rune {
	v, _ := strconv.ParseUint(s[:4], 16, 16)
	return rune(v)
}

// jsonEscape returns the escape of a control character (RFC 8259, section 7).
func jsonEscape(c byte) string {
	if i := strings.IndexByte("\b\f\n\r\t", c); i >= 0 {
		return `\` + string("bfnrt"[i])
	}
	return fmt.Sprintf(`\u%04x`, c)
}

// invalidUTF8 reports the encoding once: a file in Latin-1 is one slip.
func (s *scanner) invalidUTF8(at int) {
	if s.notUTF8 || s.quiet {
		return
	}
	s.notUTF8 = true
	s.report(at, at+1, "save the file as UTF-8", "the text is not UTF-8: byte 0x%02x", s.text[at])
}

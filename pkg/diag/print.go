package diag

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns s with every character made visible that could control a terminal or hide
// in it: control characters appear as \n, \t, \x1b or \u009b, bidirectional marks, zero-width
// characters and odd spaces as \u202e, invalid UTF-8 as \xff. The result is one line of
// printing characters and plain spaces. A backslash stays a backslash, so the result cannot be
// decoded.
func Printable(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return escape(s, i)
		}
	}
	return s
}

// escape implements Printable; the first n bytes of s need no escape.
func escape(s string, n int) string {
	var b strings.Builder
	b.WriteString(s[:n])
	for i := n; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		writeRune(&b, r, size, s[i])
		i += size
	}
	return b.String()
}

// writeRune writes a rune that took size bytes, the first of them c, or its
// visible form.
func writeRune(b *strings.Builder, r rune, size int, c byte) {
	switch {
	case r == utf8.RuneError && size == 1:
		fmt.Fprintf(b, `\x%02x`, c)
	case unicode.IsPrint(r):
		b.WriteRune(r)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r < utf8.RuneSelf:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

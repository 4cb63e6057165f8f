package term

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// LogText formats a line that a job wrote. Without --raw, it escapes control characters, so
// that a job cannot control the terminal on which its log is read.
func (con *Console) LogText(line string) string {
	if con.RawLog {
		return line
	}
	return visible(line)
}

// visible escapes control characters in a line, in Go's notation for bytes and
// code points. Tabs and other UTF-8 text are unchanged. A carriage return goes to
// the beginning of the line, as in progress bars, so only the text after the last
// one remains.
func visible(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	i := 0
	for i < len(line) && (line[i] >= ' ' && line[i] < 0x7f || line[i] == '\t') {
		i++
	}
	if i == len(line) {
		return line
	}
	var b strings.Builder
	b.WriteString(line[:i])
	for i < len(line) {
		r, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, line[i])
		case controls(r) && r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case controls(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case controls(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(line[i : i+size])
		}
		i += size
	}
	return b.String()
}

// controls reports whether a character controls a terminal or the direction of
// text: C0 and C1 controls and invisible format characters.
func controls(r rune) bool {
	switch {
	case r == '\t':
		return false
	case r < ' ', 0x7f <= r && r <= 0x9f:
		return true
	case r == 0x061c, r == 0x200b, 0x200e <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f,
		r == 0xfeff, 0xe0000 <= r && r <= 0xe007f:
		return true
	}
	return false
}

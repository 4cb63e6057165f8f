package diag

import (
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// minWidth is the least width of the source line, even on a very narrow terminal.
const minWidth = 20

// marks is the line under a source line: the indent of the carets, and the carets.
type marks struct{ indent, carets string }

// cell is a character as displayed.
type cell struct {
	text  string
	width int // columns; of a tab the largest possible number
	bytes int // in the source
}

// cell returns the character at offset i. A hidden character keeps its width.
func (l line) cell(i int) cell {
	_, size := utf8.DecodeRuneInString(l.text[i:])
	switch text := Printable(l.text[i : i+size]); {
	case l.hides(i):
		width := max(columns(text), 1)
		return cell{strings.Repeat("*", width), width, size}
	case l.text[i] == '\t':
		return cell{"\t", 8, 1}
	default:
		return cell{text, columns(text), size}
	}
}

// columns returns the width of a text in a fixed way. The library's default depends on the
// locale, and output would differ between machines.
func columns(s string) int {
	c := runewidth.Condition{StrictEmojiNeutral: true}
	return c.StringWidth(s)
}

// excerpt returns the part of line n that shows the span in at most width columns, and the
// marks under it. A span over several lines is marked to the end of its first line.
func (d Diagnostic) excerpt(n, width int) (string, marks) {
	l := d.Source.line(n)
	width = max(width, minWidth)
	start := runeStart(l.text, d.Span.Start-l.start)
	end := max(start, min(d.Span.End-l.start, len(l.text)))
	lo, hi := l.window(start, width)

	var text, indent strings.Builder
	if lo > 0 {
		text.WriteString("…")
		indent.WriteString(" ")
	}
	carets := 0
	for i := lo; i < hi; {
		c := l.cell(i)
		text.WriteString(c.text)
		switch {
		case i >= end:
		case i >= start && c.text == "\t":
			carets++ // the displayed width of a tab is unknown
		case i >= start:
			carets += c.width
		case c.text == "\t":
			indent.WriteString("\t")
		default:
			indent.WriteString(strings.Repeat(" ", c.width))
		}
		i += c.bytes
	}
	if hi < len(l.text) {
		text.WriteString("…")
	}
	return text.String(), marks{indent.String(), "^" + strings.Repeat("~", max(carets, 1)-1)}
}

// runeStart moves offset i into the line and to the start of its character.
func runeStart(line string, i int) int {
	i = max(0, min(i, len(line)))
	for back := 1; back < utf8.UTFMax && back <= i && i < len(line); back++ {
		if _, size := utf8.DecodeRuneInString(line[i-back:]); size > back {
			return i - back
		}
	}
	return i
}

// window returns the part of the line around offset at that fits into width columns, with
// space for an ellipsis at each cut. It reads only the part that can be shown, since a
// line may have megabytes.
func (l line) window(at, width int) (lo, hi int) {
	if end := l.walk(0, width); end == len(l.text) {
		return 0, len(l.text)
	}
	columns := width - 2
	lo = l.walkBack(at, columns/3)
	hi = l.walk(lo, columns)
	if hi == len(l.text) {
		lo = l.walkBack(hi, columns)
	}
	return lo, hi
}

// walk returns the end of the part from offset i that fits into width columns.
func (l line) walk(i, width int) int {
	for i < len(l.text) {
		c := l.cell(i)
		if width -= c.width; width < 0 {
			break
		}
		i += c.bytes
	}
	return i
}

// walkBack returns the start of the part before offset i that fits into width columns.
func (l line) walkBack(i, width int) int {
	for i > 0 {
		_, size := utf8.DecodeLastRuneInString(l.text[:i])
		if width -= l.cell(i - size).width; width < 0 {
			break
		}
		i -= size
	}
	return i
}

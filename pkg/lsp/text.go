package lsp

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/diag"
)

// encoding is the unit of characters in positions.
type encoding string

// The encodings that the server supports. Every client supports utf-16.
const (
	utf8Encoding  encoding = "utf-8"
	utf16Encoding encoding = "utf-16"
)

// text is the text of a document in an editor. Lines end with \n, \r\n or \r; diag.Source
// does not know the last one.
type text struct {
	s     string
	lines []int // byte offset of the first byte of every line
}

// newText finds the lines of a text.
func newText(s string) text {
	t := text{s: s, lines: []int{0}}
	for i := 0; ; i++ {
		n := strings.IndexAny(s[i:], "\r\n")
		if n < 0 {
			return t
		}
		i += n
		if strings.HasPrefix(s[i:], "\r\n") {
			i++
		}
		t.lines = append(t.lines, i+1)
	}
}

// line returns the bounds of line n (from 0), without its end. The line must exist.
func (t text) line(n int) (start, end int) {
	start, end = t.lines[n], len(t.s)
	if n+1 < len(t.lines) {
		end = t.lines[n+1]
	}
	return start, start + len(strings.TrimRight(t.s[start:end], "\r\n"))
}

// position returns the position of a byte offset. An offset outside the text is
// moved into it.
func (t text) position(offset int, e encoding) position {
	offset = max(0, min(offset, len(t.s)))
	n := sort.Search(len(t.lines), func(i int) bool { return t.lines[i] > offset }) - 1
	start := t.lines[n]
	if e == utf8Encoding {
		return position{n, offset - start}
	}
	units := 0
	for _, r := range t.s[start:offset] {
		units += utf16Len(r)
	}
	return position{n, units}
}

// offset returns the byte offset of a position. A position outside the text, or after the
// end of its line, becomes the nearest one. A position inside a character becomes its
// start.
func (t text) offset(p position, e encoding) int {
	switch {
	case p.Line < 0:
		return 0
	case p.Line >= len(t.lines):
		return len(t.s)
	}
	start, end := t.line(p.Line)
	if e == utf8Encoding {
		i := start + max(0, min(p.Character, end-start))
		for i > start && i < end && !utf8.RuneStart(t.s[i]) {
			i--
		}
		return i
	}
	units := 0
	for i, r := range t.s[start:end] {
		if units += utf16Len(r); units > p.Character {
			return start + i
		}
	}
	return end
}

// utf16Len returns the number of UTF-16 units of a character.
func utf16Len(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

func (t text) spanToRange(s diag.Span, e encoding) textRange {
	return textRange{t.position(s.Start, e), t.position(max(s.Start, s.End), e)}
}

// rangeToSpan returns the span of a range, also if its ends are swapped.
func (t text) rangeToSpan(r textRange, e encoding) diag.Span {
	a, b := t.offset(r.Start, e), t.offset(r.End, e)
	return diag.Span{Start: min(a, b), End: max(a, b)}
}

// apply applies the changes of a didChange in their order; each refers to the text after
// the one before. A change without a range is the whole new text.
func (t text) apply(changes []contentChange, e encoding) text {
	for _, c := range changes {
		if c.Range == nil {
			t = newText(c.Text)
			continue
		}
		s := t.rangeToSpan(*c.Range, e)
		t = newText(t.s[:s.Start] + c.Text + t.s[s.End:])
	}
	return t
}

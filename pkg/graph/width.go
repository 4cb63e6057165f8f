package graph

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// terminal counts columns the same way on every machine: runewidth's default depends on the
// locale.
var terminal = runewidth.Condition{StrictEmojiNeutral: true}

// columns is how many columns a text takes, at most: what a terminal draws as one sign
// counts as the characters that it is made of.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += terminal.RuneWidth(r)
	}
	return n
}

// fit cuts the end of a text that takes more than width columns. With 0 and less
// there is nothing left.
func (t *texter) fit(text string, width int) string {
	switch {
	case t.Width == 0 || columns(text) <= width:
		return text
	case width < columns(t.cut):
		return head(text, max(width, 0))
	}
	return strings.TrimRight(head(text, width-columns(t.cut)), " ") + t.cut
}

// shorten cuts the middle of a name: those of one family differ at their ends.
func (t *texter) shorten(name string, width int) string {
	if t.Width == 0 || columns(name) <= width {
		return name
	}
	mark := columns(t.cut)
	if width < mark+4 {
		return t.fit(name, width)
	}
	back := (width - mark) / 2
	return head(name, width-mark-back) + t.cut + tail(name, back)
}

// head is as much of the beginning of a text as takes width columns at most.
func head(text string, width int) string {
	taken := 0
	for i, r := range text {
		if taken += terminal.RuneWidth(r); taken > width {
			return text[:i]
		}
	}
	return text
}

// tail is as much of its end.
func tail(text string, width int) string {
	all := columns(text)
	for i, r := range text {
		if all <= width {
			return text[i:]
		}
		all -= terminal.RuneWidth(r)
	}
	return ""
}

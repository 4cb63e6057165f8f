package lsp

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
)

// expected is the kind of token that belongs at a position in a JSON text.
type expected uint8

const (
	wantNothing expected = iota
	wantName
	wantColon
	wantValue
	wantComma
)

// cursor is a position in an unfinished text, described by the text before it. The parser
// cannot help here, because it drops incomplete parts.
type cursor struct {
	open []bracket // outermost first
	want expected
	// token is the token at the cursor; empty between two tokens. quoted is true if it
	// begins with a quote.
	token  diag.Span
	quoted bool
	// comma is the offset of a missing comma before the token; -1 if none is missing.
	comma int
}

// bracket is an open bracket before the cursor.
type bracket struct {
	start int
	array bool
	// name is the last member's name; index is the number of elements before.
	name  string
	index int
	want  expected
	end   int // the end of the last value
}

// cursorAt reads the text up to the offset.
func cursorAt(text string, offset int) cursor {
	c := cursor{comma: -1}
	for i := 0; i < offset; {
		next, whole := token(text[:offset], i)
		if !whole {
			return c.stop(text, diag.Span{Start: i, End: offset})
		}
		c.take(text[i:next], i)
		i = next
	}
	return c.stop(text, diag.Span{Start: offset, End: offset})
}

// token returns the end of the token at i, and whether it is complete: a word or a string that
// reaches the end of the text may continue.
func token(text string, i int) (end int, whole bool) {
	switch c := text[i]; {
	case c == '"':
		for end = i + 1; end < len(text); end++ {
			switch text[end] {
			case '\\':
				end++
			case '"':
				return end + 1, true
			case '\n', '\r':
				return end, true
			}
		}
		return len(text), false
	case isMark(c):
		return i + 1, true
	}
	for end = i; end < len(text) && !isMark(text[end]) && text[end] != '"'; end++ {
	}
	return end, end < len(text)
}

// isMark reports whether c is a token of its own, or a blank.
func isMark(c byte) bool { return strings.IndexByte(" \t\r\n{}[]:,", c) >= 0 }

// take advances past a whole token that begins at offset i.
func (c *cursor) take(token string, i int) {
	top := c.top()
	switch token[0] {
	case ' ', '\t', '\r', '\n':
	case '{', '[':
		b := bracket{start: i, array: token == "[", want: wantName}
		if b.array {
			b.want = wantValue
		}
		c.open = append(c.open, b)
	case '}', ']':
		if top != nil {
			c.open = c.open[:len(c.open)-1]
			c.top().value(i + 1)
		}
	case ':':
		if top != nil && !top.array {
			top.want = wantValue
		}
	case ',':
		top.next()
	default:
		top.add(token, i)
	}
}

// top returns the innermost open bracket; nil outside all brackets.
func (c *cursor) top() *bracket {
	if len(c.open) == 0 {
		return nil
	}
	return &c.open[len(c.open)-1]
}

// value records that a value ends at that offset.
func (b *bracket) value(end int) {
	if b != nil {
		b.want, b.end = wantComma, end
	}
}

// next expects the next element or member, after a comma.
func (b *bracket) next() {
	switch {
	case b == nil:
	case b.array:
		b.want = wantValue
		b.index++
	default:
		b.want, b.name = wantName, ""
	}
}

// add reads a string or a word. In an object, a word where no value belongs is a name,
// even if the last member is incomplete.
func (b *bracket) add(token string, i int) {
	switch {
	case b == nil:
	case b.array || b.want == wantValue:
		b.value(i + len(token))
	default:
		b.name, b.want = strings.Trim(token, `"`), wantColon
	}
}

// stop returns the cursor for the token at which the reading ends.
func (c cursor) stop(text string, token diag.Span) cursor {
	top := c.top()
	if top == nil {
		return c
	}
	c.want, c.token = top.want, token
	c.quoted = token.End > token.Start && text[token.Start] == '"'
	if c.want == wantComma && !top.array && strings.Contains(text[top.end:token.Start], "\n") {
		c.want, c.comma = wantName, top.end
	}
	return c
}

// path returns the steps from the root to the innermost open bracket.
func (c cursor) path() []step {
	var steps []step
	for _, b := range c.open[:max(len(c.open), 1)-1] {
		steps = append(steps, b.step())
	}
	return steps
}

// step returns the step from the bracket to the value after it.
func (b bracket) step() step { return step{name: b.name, element: b.array} }

// replaced returns the span that a completion replaces: the token at the cursor, with its
// part after the cursor.
func (c cursor) replaced(text string) diag.Span {
	s := c.token
	stops := ",{}[]\r\n"
	if c.want == wantName {
		stops += ": \t"
	}
	rest := text[s.End:]
	i := strings.IndexAny(rest, stops+`"`)
	switch {
	case i < 0:
		i = len(rest)
	case c.quoted && rest[i] == '"':
		return diag.Span{Start: s.Start, End: s.End + i + 1}
	}
	if !c.quoted && s.End > s.Start {
		s.End += len(strings.TrimRight(rest[:i], " \t"))
	}
	return s
}

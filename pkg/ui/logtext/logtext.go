// Package logtext converts the log lines of a job into spans of styled text. A page shows each span with
// textContent, so no part of a line becomes markup, a terminal command or hidden text.
package logtext

import (
	"strings"
	"unicode/utf8"
)

// MaxLine is the most bytes of visible text that Line returns for one line.
const MaxLine = 8 << 10

// Line is a line of a log as a page shows it.
type Line struct {
	// Spans are the pieces of the line from left to right. It is empty but not nil for a line without text.
	Spans []Span `json:"s"`
	// Cut is the number of bytes of the input that are left out at the end of a long line.
	Cut int `json:"cut,omitempty"`
}

// Span is a piece of a line with one style.
type Span struct {
	Text string `json:"t"`
	// Class has class names with a blank between them: b (bold), d (dim), i (italic), u (underline), r (reverse),
	// s (strike), f0 to f15 (foreground), g0 to g15 (background). It is "ctl" for the name of a character that
	// would change the order of the text, such as "<U+202E>". Colours are the 16 ANSI colours: 0 to 7 are black,
	// red, green, yellow, blue, magenta, cyan and white; 8 to 15 are their bright variants.
	Class string `json:"c,omitempty"`
}

// Parser converts the lines of one stream. Styles continue from line to line, as on a terminal.
// The zero Parser is ready to use. It is not safe for concurrent use.
type Parser struct {
	style style
	// text and pieces are the current line; they are kept to save allocations.
	text   []byte
	pieces []piece
	// cutAt is where in the input the text was cut, -1 if it is not.
	cutAt int
	// returned reports a carriage return after which no text came yet.
	returned bool
	// stringEnd and stringNext are the last answer of controlString in this line.
	stringEnd, stringNext int
}

// piece is a part of Parser.text with one style.
type piece struct {
	end   int
	style style
}

// Line converts a line, without its line break. It follows these rules:
//   - SGR sequences (colours, bold...) set the style. Colours of 256 and 24 bits become the nearest of the
//     16 ANSI colours. Concealed text is visible, and blinking text does not blink.
//   - Other escape sequences are removed. Control strings (OSC, DCS, SOS, PM, APC) are removed with their content.
//     A control string that does not end in this line is text: one stray byte must not hide the rest of a log.
//   - Text after a carriage return replaces the text before it, so a progress bar shows its last state.
//   - Control characters become their pictures, such as U+2400 for NUL. Tabs stay. Backspaces and C1 controls
//     are removed.
//   - Characters that change the text's direction or break the line become their names, with class "ctl".
//   - Bytes that are not UTF-8 become U+FFFD.
//   - Text after MaxLine bytes is left out. The styles in it still count.
func (p *Parser) Line(text string) Line {
	p.start()
	p.stringEnd, p.stringNext = -1, -1
	for at := 0; at < len(text); {
		if p.cutAt >= 0 && !p.returned { // only styles and carriage returns matter now
			if at += skipText(text[at:]); at == len(text) {
				break
			}
		}
		if n := plain(text[at:]); n > 0 {
			p.add(text[at:at+n], p.style, at)
			at += n
			continue
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		name, isLayout := layoutNames[r]
		switch {
		case r == esc:
			at = p.escape(text, at+1)
			continue
		case r == '\r':
			p.returned = true
		case r == '\b':
		case r < ' ':
			p.add(string('\u2400'+r), p.style, at)
		case r == 0x7f:
			p.add("\u2421", p.style, at)
		case r >= 0x80 && r < 0xa0: // the 8-bit form of ESC and a letter
			at = p.command(text, at+size, byte(r-0x40))
			continue
		case isLayout:
			p.add(name, style{layout: true}, at)
		default:
			p.add(string(r), p.style, at) // U+FFFD for a byte that is not UTF-8
		}
		at += size
	}
	return p.line(len(text))
}

// start empties the line.
func (p *Parser) start() {
	p.text, p.pieces, p.cutAt, p.returned = p.text[:0], p.pieces[:0], -1, false
}

// add appends text that has the position at in the input. It cuts the text at MaxLine, between
// characters, and appends nothing after a cut.
func (p *Parser) add(text string, s style, at int) {
	if p.returned {
		p.start()
	}
	if p.cutAt >= 0 {
		return
	}
	if space := MaxLine - len(p.text); len(text) > space {
		p.cutAt = at
		if text[0] >= utf8.RuneSelf || s.layout {
			return
		}
		text, p.cutAt = text[:space], at+space // plain text: all characters have one byte
	}
	p.text = append(p.text, text...)
	switch last := len(p.pieces) - 1; {
	case text == "":
	case last >= 0 && p.pieces[last].style == s:
		p.pieces[last].end = len(p.text)
	default:
		p.pieces = append(p.pieces, piece{len(p.text), s})
	}
}

// line returns the current line, of an input with size bytes.
func (p *Parser) line(size int) Line {
	l := Line{Spans: make([]Span, len(p.pieces))}
	if p.cutAt >= 0 {
		l.Cut = size - p.cutAt
	}
	text, start := string(p.text), 0
	for i, piece := range p.pieces {
		l.Spans[i] = Span{Text: text[start:piece.end], Class: piece.style.class()}
		start = piece.end
	}
	return l
}

// plain returns the length of the printable ASCII text, with tabs, at the start of text.
func plain(text string) int {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\t') || c >= 0x7f {
			return i
		}
	}
	return len(text)
}

// skipText returns the length of the text before the first escape sequence, C1 control or carriage return.
func skipText(text string) int {
	for i := range len(text) {
		switch c := text[i]; {
		case c == esc || c == '\r':
			return i
		case c == 0xc2 && i+1 < len(text) && text[i+1] >= 0x80 && text[i+1] < 0xa0:
			return i
		}
	}
	return len(text)
}

// layoutNames are the characters that change the direction of the text around them or break the line.
var layoutNames = map[rune]string{
	0x061c: "<U+061C>", 0x200e: "<U+200E>", 0x200f: "<U+200F>", 0x2028: "<U+2028>", 0x2029: "<U+2029>",
	0x202a: "<U+202A>", 0x202b: "<U+202B>", 0x202c: "<U+202C>", 0x202d: "<U+202D>", 0x202e: "<U+202E>",
	0x2066: "<U+2066>", 0x2067: "<U+2067>", 0x2068: "<U+2068>", 0x2069: "<U+2069>",
}

const (
	esc = 0x1b
	can = 0x18
	sub = 0x1a
)

// escape processes the escape sequence whose ESC is before at and returns where it ends (ECMA-35, 13.2).
func (p *Parser) escape(text string, at int) int {
	start := at
	for at < len(text) && text[at] >= 0x20 && text[at] <= 0x2f {
		at++
	}
	switch {
	case at == len(text) || text[at] < 0x30 || text[at] > 0x7e:
		return at
	case at > start:
		return at + 1
	case text[at] == 'c': // RIS, reset to initial state
		p.style = style{}
	}
	return p.command(text, at+1, text[at])
}

// command processes what follows ESC and a final byte, or the C1 control that is equal to them.
func (p *Parser) command(text string, at int, final byte) int {
	switch final {
	case '[':
		return p.controlSequence(text, at)
	case ']', 'P', 'X', '^', '_':
		return p.controlString(text, at)
	}
	return at
}

// controlSequence processes the parameters and the final byte of a control sequence (ECMA-48, 5.4).
func (p *Parser) controlSequence(text string, at int) int {
	start := at
	for at < len(text) && text[at] >= 0x30 && text[at] <= 0x3f {
		at++
	}
	parameters := text[start:at]
	for at < len(text) && text[at] >= 0x20 && text[at] <= 0x2f {
		at++
	}
	if at == len(text) || text[at] < 0x40 || text[at] > 0x7e {
		return at
	}
	if text[at] == 'm' && at == start+len(parameters) && !strings.ContainsAny(parameters, "<=>?") {
		p.style.apply(parameters)
	}
	return at + 1
}

// controlString returns where a control string ends: after BEL or ST, or before another ESC, CAN or
// SUB, which cancel it. It returns at if the string does not end in this line.
func (p *Parser) controlString(text string, at int) int {
	// All strings that start before the same end have the same answer; a search for each would take quadratic time.
	if at <= p.stringEnd {
		return max(at, p.stringNext)
	}
	end := at
	for ; end < len(text); end++ {
		switch c := text[end]; {
		case c == esc && end+1 < len(text) && text[end+1] == '\\', c == 0xc2 && end+1 < len(text) &&
			text[end+1] == 0x9c:
			p.stringEnd, p.stringNext = end, end+2
			return end + 2
		case c == '\a':
			p.stringEnd, p.stringNext = end, end+1
			return end + 1
		case c == esc, c == can, c == sub:
			p.stringEnd, p.stringNext = end, end
			return end
		}
	}
	p.stringEnd, p.stringNext = end, -1
	return at
}

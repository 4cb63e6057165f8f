package wire

import (
	"encoding/json"
	"fmt"
)

// tokens reads JSON text token by token. A service that reads thousands of small requests would
// spend a tenth of its time in encoding/json's tokenizer. A test compares the two.
type tokens struct {
	data []byte
	pos  int
	// open has the brackets that are open, outermost first.
	open []byte
	// ended means that a value of the innermost object or array has just ended; named that a
	// member's name was just read, and its value follows.
	ended, named bool
}

// token is a bracket, or a value: its kind is '{', '}', '[', ']', '"' for a string (a
// member's name too), '0' for a number, 't', 'f' or 'n'.
type token struct {
	kind byte
	// text is the decoded text of a string, or the digits of a number.
	text string
}

// blanks skips white space.
func (t *tokens) blanks() {
	for t.pos < len(t.data) {
		switch t.data[t.pos] {
		case ' ', '\t', '\n', '\r':
			t.pos++
		default:
			return
		}
	}
}

// peek returns the byte after white space.
func (t *tokens) peek() (byte, error) {
	t.blanks()
	if t.pos == len(t.data) {
		return 0, errIncomplete
	}
	return t.data[t.pos], nil
}

// errIncomplete is the error for a text that ends inside the document.
var errIncomplete = &Error{Message: "the JSON document is not complete"}

// invalid returns the error for a text that is not JSON. position is a phrase for the current
// position, after "invalid character".
func (t *tokens) invalid(position string) error {
	if t.pos >= len(t.data) {
		return errIncomplete
	}
	return &Error{Message: fmt.Sprintf("not JSON, at byte %d: invalid character %q %s", t.pos, t.data[t.pos], position)}
}

// next returns the next token. It checks and skips the separators.
func (t *tokens) next() (token, error) {
	c, err := t.peek()
	if err != nil {
		return token{}, err
	}
	if n := len(t.open); n > 0 && !t.named {
		bracket := t.open[n-1]
		if c == bracket+2 { // '}' for '{', ']' for '['
			t.pos++
			t.open, t.ended = t.open[:n-1], true
			return token{kind: c}, nil
		}
		if t.ended {
			if c != ',' {
				return token{}, t.invalid("after a value")
			}
			t.pos++
			if c, err = t.peek(); err != nil {
				return token{}, err
			}
		}
		if bracket == '{' {
			return t.name(c)
		}
	}
	t.named, t.ended = false, true
	return t.value(c)
}

// name reads a member's name and the colon.
func (t *tokens) name(c byte) (token, error) {
	if c != '"' {
		return token{}, t.invalid("in place of a member's name")
	}
	name, err := t.text()
	if err != nil {
		return token{}, err
	}
	if c, err = t.peek(); err != nil {
		return token{}, err
	}
	if c != ':' {
		return token{}, t.invalid("after a member's name")
	}
	t.pos++
	t.named = true
	return token{'"', name}, nil
}

// value reads the token that begins with c.
func (t *tokens) value(c byte) (token, error) {
	switch c {
	case '{', '[':
		t.pos++
		t.open, t.ended = append(t.open, c), false
		return token{kind: c}, nil
	case '"':
		text, err := t.text()
		return token{'"', text}, err
	case 't':
		return t.literal("true")
	case 'f':
		return t.literal("false")
	case 'n':
		return t.literal("null")
	}
	if n := numberLen(t.data[t.pos:]); n > 0 {
		t.pos += n
		return token{'0', string(t.data[t.pos-n : t.pos])}, nil
	}
	return token{}, t.invalid("in place of a value")
}

// literal reads true, false or null.
func (t *tokens) literal(name string) (token, error) {
	for i := range len(name) {
		if t.pos == len(t.data) || t.data[t.pos] != name[i] {
			return token{}, t.invalid("in " + name)
		}
		t.pos++
	}
	return token{kind: name[0]}, nil
}

// text reads the string whose opening quote is at pos.
func (t *tokens) text() (string, error) {
	start, escaped := t.pos, false
	for t.pos++; t.pos < len(t.data); t.pos++ {
		switch c := t.data[t.pos]; {
		case c == '"':
			t.pos++
			if !escaped {
				return string(t.data[start+1 : t.pos-1]), nil
			}
			var text string
			if err := json.Unmarshal(t.data[start:t.pos], &text); err != nil {
				return "", &Error{Message: fmt.Sprintf("not JSON, at byte %d: %v", start, err)}
			}
			return text, nil
		case c == '\\':
			escaped = true
			t.pos++
		case c < ' ':
			return "", t.invalid("in a string")
		}
	}
	return "", errIncomplete
}

// numberLen returns the length of the number at the start of a text; 0 if there is none.
func numberLen(text []byte) int {
	i := 0
	digits := func() bool {
		first := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		return i > first
	}
	if i < len(text) && text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if !digits() {
		return 0
	}
	if i < len(text) && text[i] == '.' {
		if i++; !digits() {
			return 0
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

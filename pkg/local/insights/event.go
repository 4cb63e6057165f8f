package insights

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Event is a log event.
type Event struct {
	Timestamp, Ingestion int64  // epoch milliseconds
	Group, Stream        string // names
	Position             int64  // in the stream
	Message              string
}

// Field is a field with its value, as results show it.
type Field struct{ Name, Value string }

// The fields that every event has (user guide, "Supported logs and discovered fields").
const (
	fieldTimestamp = "@timestamp"
	fieldIngestion = "@ingestionTime"
	fieldMessage   = "@message"
	fieldStream    = "@logStream"
	fieldLog       = "@log"
	fieldPointer   = "@ptr"
)

// system returns how to read a field that every event has; nil for another field.
func (q *Query) system(name string) func(*row) value {
	switch name {
	case fieldTimestamp:
		return func(r *row) value { return momentOf(float64(r.event.Timestamp)) }
	case fieldIngestion:
		return func(r *row) value { return momentOf(float64(r.event.Ingestion)) }
	case fieldMessage:
		return func(r *row) value { return textOf(r.event.Message) }
	case fieldStream:
		return func(r *row) value { return textOf(r.event.Stream) }
	case fieldLog:
		return func(r *row) value { return textOf(r.account + ":" + r.event.Group) }
	case fieldPointer:
		return func(r *row) value { return textOf(r.event.Pointer()) }
	}
	return nil
}

// formatTime returns a time as results show it, in UTC.
func formatTime(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000") }

// Pointer returns the @ptr of an event, which ParsePointer reads.
func (e *Event) Pointer() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(e.Position, 10) + "\x00" + e.Group + "\x00" +
		e.Stream))
}

// ParsePointer returns where the event of a @ptr is.
func ParsePointer(pointer string) (group, stream string, position int64, err error) {
	text, err := base64.RawURLEncoding.DecodeString(pointer)
	if err != nil {
		return "", "", 0, err
	}
	number, rest, _ := strings.Cut(string(text), "\x00")
	group, stream, ok := strings.Cut(rest, "\x00")
	if position, err = strconv.ParseInt(number, 10, 64); err != nil || position < 0 || !ok {
		return "", "", 0, fmt.Errorf("%q does not name an event", pointer)
	}
	return group, stream, position, nil
}

// Discovered returns the fields of a message that is a JSON object, in their order in the message.
func Discovered(message string) []Field {
	var all []Field
	walk := walker{text: message, found: func(path string, v value) { all = append(all, Field{path, v.String()}) }}
	if !walk.message() {
		return nil
	}
	return all
}

// walker reads a JSON object and reports its values by their paths, such as a.b.0.
type walker struct {
	text string
	pos  int
	path []byte
	// within has the paths to descend into; nil means all.
	within map[string]bool
	// found is called for each text, number and boolean.
	found func(path string, v value)
}

// message reads the whole text. It reports false if that is not a JSON object.
func (w *walker) message() bool {
	w.blanks()
	if w.pos == len(w.text) || w.text[w.pos] != '{' || !w.container('}') {
		return false
	}
	w.blanks()
	return w.pos == len(w.text)
}

func (w *walker) blanks() {
	for w.pos < len(w.text) && strings.IndexByte(" \t\r\n", w.text[w.pos]) >= 0 {
		w.pos++
	}
}

// next reports whether a byte comes next, and skips it.
func (w *walker) next(c byte) bool {
	w.blanks()
	if w.pos == len(w.text) || w.text[w.pos] != c {
		return false
	}
	w.pos++
	return true
}

// container reads an object or an array, which end names.
func (w *walker) container(end byte) bool {
	w.pos++
	if w.next(end) {
		return true
	}
	parent := len(w.path)
	for i := 0; ; i++ {
		if parent > 0 {
			w.path = append(w.path, '.')
		}
		if end == ']' {
			w.path = strconv.AppendInt(w.path, int64(i), 10)
		} else {
			w.blanks()
			name, ok := w.quoted()
			if !ok || !w.next(':') {
				return false
			}
			w.path = append(w.path, name...)
		}
		if !w.value() {
			return false
		}
		w.path = w.path[:parent]
		if w.next(',') {
			continue
		}
		return w.next(end)
	}
}

// value reads a value of any type.
func (w *walker) value() bool {
	w.blanks()
	if w.pos == len(w.text) {
		return false
	}
	switch c := w.text[w.pos]; c {
	case '{', '[':
		if w.within != nil && !w.within[string(w.path)] {
			return w.skip()
		}
		return w.container(c + 2) // '}' for '{', ']' for '['
	case '"':
		s, ok := w.quoted()
		if ok {
			w.found(string(w.path), textOf(s))
		}
		return ok
	}
	start := w.pos
	for w.pos < len(w.text) && strings.IndexByte(",]} \t\r\n", w.text[w.pos]) < 0 {
		w.pos++
	}
	switch word := w.text[start:w.pos]; word {
	case "null":
	case "true", "false":
		w.found(string(w.path), booleanOf(word == "true"))
	default:
		f, ok := parseNumber(word)
		if !ok {
			return false
		}
		w.found(string(w.path), value{kind: number, number: f, text: word})
	}
	return true
}

// skip skips an object or an array.
func (w *walker) skip() bool {
	for depth := 0; w.pos < len(w.text); {
		switch w.text[w.pos] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				w.pos++
				return true
			}
		case '"':
			if _, ok := w.quoted(); !ok {
				return false
			}
			continue
		}
		w.pos++
	}
	return false
}

// quoted reads a text.
func (w *walker) quoted() (string, bool) {
	if w.pos == len(w.text) || w.text[w.pos] != '"' {
		return "", false
	}
	start, escaped := w.pos, false
	for w.pos++; w.pos < len(w.text); w.pos++ {
		switch w.text[w.pos] {
		case '\\':
			escaped = true
			w.pos++
		case '"':
			w.pos++
			if !escaped {
				return w.text[start+1 : w.pos-1], true
			}
			var s string
			err := json.Unmarshal([]byte(w.text[start:w.pos]), &s)
			return s, err == nil
		}
	}
	return "", false
}

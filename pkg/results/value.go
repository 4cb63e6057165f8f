package results

import (
	"bytes"
	"encoding/json"
	"iter"
	"math"
	"strconv"
	"strings"
)

// Kind is what a value is in JSON.
type Kind uint8

// The kinds of values.
const (
	// Absent is for a key that a child did not print.
	Absent Kind = iota
	Null
	Bool
	Number
	String
	// JSON is an array, or an object without members.
	JSON
)

// Value is a value of a table. Text is a string's content, a number as it was
// written, true or false, or JSON in one line; it is empty for Absent and Null.
type Value struct {
	Kind Kind
	Text string
}

// Float is the value as a number; ok is false for other kinds and for numbers that
// are beyond a float64.
func (v Value) Float() (f float64, ok bool) {
	if v.Kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

func valid(text string) bool { return json.Valid([]byte(text)) }

// members yields the members of a valid JSON object with their dotted paths: those of
// an object inside are members too, and an array is one value. Two members may have
// the same path: {"a.b": 1, "a": {"b": 2}}.
func members(object string) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		r := reader{text: object, dec: json.NewDecoder(strings.NewReader(object)), yield: yield}
		r.dec.UseNumber()
		_ = r.next()
		r.object("")
	}
}

// reader walks over the tokens of an object. The text is valid, so no token fails.
type reader struct {
	text  string
	dec   *json.Decoder
	yield func(string, Value) bool
}

func (r *reader) next() json.Token {
	token, _ := r.dec.Token()
	return token
}

// object reads the rest of an object whose brace has been read, and reports whether
// more is wanted.
func (r *reader) object(prefix string) bool {
	if !r.dec.More() {
		_ = r.next()
		return prefix == "" || r.yield(strings.TrimSuffix(prefix, "."), Value{JSON, "{}"})
	}
	for r.dec.More() {
		key, _ := r.next().(string)
		if !r.member(prefix + key) {
			return false
		}
	}
	_ = r.next()
	return true
}

func (r *reader) member(path string) bool {
	switch token := r.next().(type) {
	case json.Delim:
		if token == '{' {
			return r.object(path + ".")
		}
		return r.yield(path, r.array())
	case bool:
		return r.yield(path, Value{Bool, strconv.FormatBool(token)})
	case json.Number:
		return r.yield(path, Value{Number, token.String()})
	case string:
		return r.yield(path, Value{String, token})
	}
	return r.yield(path, Value{Kind: Null})
}

// array reads the rest of an array as text.
func (r *reader) array() Value {
	start := r.dec.InputOffset() - 1
	for depth := 1; depth > 0; {
		switch r.next() {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	var b bytes.Buffer
	_ = json.Compact(&b, []byte(r.text[start:r.dec.InputOffset()]))
	return Value{JSON, b.String()}
}

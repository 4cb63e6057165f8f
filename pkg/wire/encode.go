package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Marshal returns v, an SDK input, output or shape, as AWS JSON: the wire name
// is the field name with its first letter lowered; absent members are left out.
// Absent is a nil pointer, slice or map and an empty enum; an empty slice that
// is not nil is written. Members come in the order of the struct, map keys
// sorted, so equal values give equal bytes. Bytes that are not UTF-8 become
// U+FFFD, as the SDK writes them.
func Marshal(v any) ([]byte, error) {
	text, err := appendValue(make([]byte, 0, 512), reflect.ValueOf(v))
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return text, nil
}

// appendValue appends a value of any type that occurs in a shape.
func appendValue(text []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Pointer:
		return appendValue(text, v.Elem())
	case reflect.Struct:
		return appendObject(text, v)
	case reflect.Map:
		return appendEntries(text, v)
	case reflect.Slice:
		return appendList(text, v)
	case reflect.String:
		return AppendString(text, v.String()), nil
	case reflect.Bool:
		return strconv.AppendBool(text, v.Bool()), nil
	case reflect.Int32, reflect.Int64:
		return strconv.AppendInt(text, v.Int(), 10), nil
	case reflect.Float32, reflect.Float64:
		return appendFloat(text, v)
	case reflect.Invalid:
		return nil, fmt.Errorf("nil has no AWS JSON")
	}
	return nil, fmt.Errorf("%s has no AWS JSON here", v.Type())
}

// appendObject appends a struct without its absent members.
func appendObject(text []byte, v reflect.Value) (_ []byte, err error) {
	text = append(text, '{')
	first := true
	for _, m := range members(v.Type()) {
		f := v.Field(m.index)
		if f.IsZero() {
			continue
		}
		if text, err = appendMember(text, m.name, f, first); err != nil {
			return nil, err
		}
		first = false
	}
	return append(text, '}'), nil
}

// appendEntries appends a map with sorted keys.
func appendEntries(text []byte, v reflect.Value) (_ []byte, err error) {
	keys := v.MapKeys()
	slices.SortStableFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	text = append(text, '{')
	first := true
	for _, k := range keys {
		f := v.MapIndex(k)
		if f.Kind() == reflect.Slice && f.IsNil() {
			continue
		}
		if text, err = appendMember(text, k.String(), f, first); err != nil {
			return nil, err
		}
		first = false
	}
	return append(text, '}'), nil
}

// appendMember appends a member with the comma before it, if it is not the first.
func appendMember(text []byte, name string, v reflect.Value, first bool) ([]byte, error) {
	if !first {
		text = append(text, ',')
	}
	return appendValue(append(AppendString(text, name), ':'), v)
}

// appendList appends a slice, of which each element is written.
func appendList(text []byte, v reflect.Value) (_ []byte, err error) {
	text = append(text, '[')
	for i := range v.Len() {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = appendValue(text, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(text, ']'), nil
}

// AppendString appends s as a JSON string, as Marshal writes it.
func AppendString(text []byte, s string) []byte {
	if plain(s) {
		text = append(text, '"')
		text = append(text, s...)
		return append(text, '"')
	}
	out := bytes.NewBuffer(text)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // neither a string nor a buffer has an error
	return out.Bytes()[:out.Len()-1]
}

// plain reports whether a string is the same in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendFloat appends a number in its shortest form. JSON has no infinity and no NaN.
func appendFloat(text []byte, v reflect.Value) ([]byte, error) {
	if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not a JSON number", f)
	}
	return strconv.AppendFloat(text, v.Float(), 'g', -1, v.Type().Bits()), nil
}

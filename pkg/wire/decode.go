package wire

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Unmarshal decodes AWS JSON into v, a pointer to an SDK shape. Member names
// match exactly; an unknown member, a member given twice, a wrong type, a number
// out of range, text that is not Unicode and anything after the document are an
// *Error with the member's path. JSON null is an absent member. Nesting needs no
// limit of its own: no shape is recursive, so deeper text has a wrong type.
func Unmarshal(data []byte, v any) error {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("decode into %T: need a pointer to a shape", v)
	}
	if err := checkText(data); err != nil {
		return err
	}
	d := &decoder{tokens: tokens{data: data}}
	token, err := d.next()
	if err != nil {
		return err
	}
	if err := d.value(p.Elem(), "", token); err != nil {
		return err
	}
	if d.blanks(); d.pos < len(data) {
		return &Error{Message: fmt.Sprintf("text after the JSON document, at byte %d", d.pos)}
	}
	return nil
}

// checkText rejects text that encoding/json would silently replace by U+FFFD.
func checkText(data []byte) error {
	if !utf8.Valid(data) {
		return &Error{Message: "the document is not valid UTF-8"}
	}
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(data[i:])
		switch {
		case !ok || !utf16.IsSurrogate(unit):
			i++
		case utf16.DecodeRune(unit, nextUnit(data[i+6:])) == utf8.RuneError:
			return &Error{Message: fmt.Sprintf("half of a surrogate pair, at byte %d", i)}
		default:
			i += 11
		}
	}
	return nil
}

// nextUnit returns the escaped unit at the start of data; 0 if there is none, which completes no
// surrogate pair.
func nextUnit(data []byte) rune {
	unit, _ := escapedUnit(data)
	return unit
}

// escapedUnit returns the UTF-16 unit of a \uXXXX escape at the start of data.
func escapedUnit(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}

// decoder stores the tokens of a document in an SDK shape. Paths are for errors only.
type decoder struct{ tokens }

// value stores the value that begins with token.
func (d *decoder) value(v reflect.Value, path string, token token) error {
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		v.Set(p)
		return d.value(p.Elem(), path, token)
	case reflect.Struct:
		return d.object(v, path, token)
	case reflect.Map:
		return d.entries(v, path, token)
	case reflect.Slice:
		return d.list(v, path, token)
	case reflect.String:
		if token.kind != '"' {
			return wrongType(path, "a string", token)
		}
		v.SetString(token.text)
	case reflect.Bool:
		if token.kind != 't' && token.kind != 'f' {
			return wrongType(path, "true or false", token)
		}
		v.SetBool(token.kind == 't')
	case reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		return number(v, path, token)
	default:
		return fmt.Errorf("decode %s: %s has no AWS JSON here", path, v.Type())
	}
	return nil
}

// object stores an object in a struct. A member that the struct does not have is an error.
func (d *decoder) object(v reflect.Value, path string, token token) error {
	members := members(v.Type())
	seen := make([]bool, v.NumField())
	return d.members(path, token, func(name string) (reflect.Value, error) {
		for _, m := range members {
			if m.name == name {
				if seen[m.index] {
					return reflect.Value{}, twice(path, name)
				}
				seen[m.index] = true
				return v.Field(m.index), nil
			}
		}
		return reflect.Value{}, unknown(path, name, members)
	}, nil)
}

// entries stores an object in a map. A name that occurs twice is an error.
func (d *decoder) entries(v reflect.Value, path string, token token) error {
	m := reflect.MakeMap(v.Type())
	v.Set(m)
	seen := map[string]bool{}
	return d.members(path, token, func(name string) (reflect.Value, error) {
		if seen[name] {
			return reflect.Value{}, twice(path, name)
		}
		seen[name] = true
		return reflect.New(v.Type().Elem()).Elem(), nil
	}, func(name string, value reflect.Value) {
		m.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), value)
	})
}

// members reads an object. target returns where the value of a name is stored, and done is called
// for each value that was not null.
func (d *decoder) members(path string, token token, target func(string) (reflect.Value, error),
	done func(string, reflect.Value)) error {
	if token.kind != '{' {
		return wrongType(path, "an object", token)
	}
	for {
		key, err := d.next()
		if err != nil {
			return err
		}
		if key.kind == '}' {
			return nil
		}
		name := key.text
		v, err := target(name)
		if err != nil {
			return err
		}
		value, err := d.next()
		if err != nil {
			return err
		}
		if value.kind == 'n' {
			continue
		}
		if err := d.value(v, join(path, name), value); err != nil {
			return err
		}
		if done != nil {
			done(name, v)
		}
	}
}

// list stores an array in a slice. An empty array gives an empty slice, not nil.
func (d *decoder) list(v reflect.Value, path string, token token) error {
	if token.kind != '[' {
		return wrongType(path, "an array", token)
	}
	s := reflect.MakeSlice(v.Type(), 0, 0)
	for i := 0; ; i++ {
		token, err := d.next()
		if err != nil {
			return err
		}
		if token.kind == ']' {
			v.Set(s)
			return nil
		}
		item := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(item, path+"["+strconv.Itoa(i)+"]", token); err != nil {
			return err
		}
		s = reflect.Append(s, item)
	}
}

// number stores a number. An integer type accepts a whole number that is written with a fraction or an exponent,
// as JSON Schema's "integer" does.
func number(v reflect.Value, path string, token token) error {
	if token.kind != '0' {
		return wrongType(path, "a number", token)
	}
	n := token.text
	if v.CanFloat() {
		f, err := strconv.ParseFloat(n, v.Type().Bits())
		if err != nil {
			return &Error{path, fmt.Sprintf("%s is out of range", n)}
		}
		v.SetFloat(f)
		return nil
	}
	i, err := strconv.ParseInt(n, 10, v.Type().Bits())
	if errors.Is(err, strconv.ErrRange) {
		return &Error{path, fmt.Sprintf("%s is out of range: it must fit in %d bits", n, v.Type().Bits())}
	}
	if err != nil { // it has a fraction or an exponent
		f, err := strconv.ParseFloat(n, 64)
		if i = int64(f); err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 || v.OverflowInt(i) {
			return &Error{path, fmt.Sprintf("%s is not a whole number of %d bits", n, v.Type().Bits())}
		}
	}
	v.SetInt(i)
	return nil
}

// join adds a member to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// twice returns the error for a member that an object has twice.
func twice(path, name string) error {
	return &Error{join(path, name), "the member occurs twice"}
}

// unknown returns the error for a member that the shape does not have, and suggests the same name
// in other letters.
func unknown(path, name string, members []member) error {
	for _, m := range members {
		if strings.EqualFold(m.name, name) {
			return &Error{join(path, name), fmt.Sprintf("unknown member, did you mean %q?", m.name)}
		}
	}
	return &Error{join(path, name), UnknownMember}
}

// wrongType returns the error for a value of the wrong type. expected is a phrase such as "a
// string".
func wrongType(path, expected string, token token) error {
	got := map[byte]string{'n': "null", '{': "an object", '[': "an array", '"': "a string", 't': "true", 'f': "false",
		'0': "the number " + token.text}[token.kind]
	return &Error{path, fmt.Sprintf("must be %s, not %s", expected, got)}
}

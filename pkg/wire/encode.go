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
)

// Marshal returns v, an SDK input, output or shape, as AWS JSON: the wire name
// is the field name with its first letter lowered; absent members are left out.
// Absent is a nil pointer, slice or map and an empty enum; an empty slice that
// is not nil is written. Members come in the order of the struct, map keys
// sorted, so equal values give equal bytes. Bytes that are not UTF-8 become
// U+FFFD, as the SDK writes them.
func Marshal(v any) ([]byte, error) {
	e := &encoder{shapes: shapes{}}
	e.strings = json.NewEncoder(&e.buf)
	e.strings.SetEscapeHTML(false)
	if err := e.value(reflect.ValueOf(v)); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return e.buf.Bytes(), nil
}

type encoder struct {
	buf     bytes.Buffer
	strings *json.Encoder // writes to buf
	shapes  shapes
}

func (e *encoder) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		return e.value(v.Elem())
	case reflect.Struct:
		return e.object(v)
	case reflect.Map:
		return e.entries(v)
	case reflect.Slice:
		return e.list(v)
	case reflect.String:
		return e.text(v.String())
	case reflect.Bool:
		e.buf.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int32, reflect.Int64:
		e.buf.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Float32, reflect.Float64:
		return e.float(v)
	case reflect.Invalid:
		return fmt.Errorf("nil has no AWS JSON")
	default:
		return fmt.Errorf("%s has no AWS JSON here", v.Type())
	}
	return nil
}

func (e *encoder) object(v reflect.Value) error {
	e.buf.WriteByte('{')
	first := true
	for _, m := range e.shapes.members(v.Type()) {
		f := v.Field(m.index)
		if f.IsZero() {
			continue
		}
		if err := e.member(m.name, f, first); err != nil {
			return err
		}
		first = false
	}
	e.buf.WriteByte('}')
	return nil
}

func (e *encoder) entries(v reflect.Value) error {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	e.buf.WriteByte('{')
	first := true
	for _, k := range keys {
		f := v.MapIndex(k)
		if f.Kind() == reflect.Slice && f.IsNil() {
			continue
		}
		if err := e.member(k.String(), f, first); err != nil {
			return err
		}
		first = false
	}
	e.buf.WriteByte('}')
	return nil
}

func (e *encoder) member(name string, v reflect.Value, first bool) error {
	if !first {
		e.buf.WriteByte(',')
	}
	if err := e.text(name); err != nil {
		return err
	}
	e.buf.WriteByte(':')
	return e.value(v)
}

func (e *encoder) list(v reflect.Value) error {
	e.buf.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		if err := e.value(v.Index(i)); err != nil {
			return err
		}
	}
	e.buf.WriteByte(']')
	return nil
}

func (e *encoder) text(s string) error {
	if err := e.strings.Encode(s); err != nil {
		return err
	}
	e.buf.Truncate(e.buf.Len() - 1) // the newline that json.Encoder adds
	return nil
}

func (e *encoder) float(v reflect.Value) error {
	if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%v is no JSON number", f)
	}
	e.buf.WriteString(strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()))
	return nil
}

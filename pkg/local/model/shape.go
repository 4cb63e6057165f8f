package model

import (
	"bytes"
	"unicode"

	"github.com/batchctl/batchctl/pkg/wire"
)

// Shape is a structure of the SDK that the journal keeps in its wire form, which does not change
// with the SDK's version. T is a pointer to the structure, so the methods are compiled once for all structures.
type Shape[T any] struct {
	V T
	// text is V in the journal's form, if known.
	text []byte
}

// ShapeOf returns a shape with its original text, which the journal keeps if it is one line.
// Without a text it is encoded now: outside the engine's lock.
func ShapeOf[T any](v T, text []byte) (Shape[T], error) {
	if text == nil || !plain(text) {
		var err error
		if text, err = wire.Marshal(v); err != nil {
			return Shape[T]{}, err
		}
	}
	return Shape[T]{v, text}, nil
}

// plain reports whether a text has no line break or other invisible character.
func plain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c >= 0x7f {
			return !bytes.ContainsFunc(text, unicode.IsControl)
		}
	}
	return true
}

// MarshalJSON returns the wire form, or the text that ShapeOf kept.
func (s Shape[T]) MarshalJSON() ([]byte, error) {
	if s.text != nil {
		return s.text, nil
	}
	return wire.Marshal(s.V)
}

// UnmarshalJSON decodes the wire form.
func (s *Shape[T]) UnmarshalJSON(data []byte) error {
	return wire.Unmarshal(data, &s.V)
}

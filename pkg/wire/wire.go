// Package wire translates between the SDK's shapes and AWS JSON: one codec and
// one table of routes for every operation.
//
// In Batch, and in GetLogEvents of CloudWatch Logs, the wire name of a member is
// the field's name with its first letter lowered, without exception, so the
// codec needs no names of its own. Times are epoch milliseconds in int64
// members. Blobs, timestamps, unions and documents do not occur in these
// services and are not covered; a shape that holds one is an error, not a guess.
package wire

import (
	"reflect"
	"strings"
	"sync"
)

// UnknownMember is the message of an Error about a member that the shape does not have and that is
// not a misspelling.
const UnknownMember = "unknown member"

// Error is a request body that does not match the shape.
type Error struct {
	// Path is the member: `containerProperties.resourceRequirements[0].value`.
	// It is empty where the document as a whole is wrong.
	Path    string
	Message string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

type member struct {
	name  string // on the wire
	index int    // of the struct field
}

// shapes holds the members of each struct type that has been met. What it holds
// follows from the types alone, so it is shared by all calls.
var shapes sync.Map // reflect.Type to []member

func members(t reflect.Type) []member {
	if m, ok := shapes.Load(t); ok {
		return m.([]member)
	}
	var m []member
	for i := range t.NumField() {
		f := t.Field(i)
		// ResultMetadata is the SDK's own: it never travels.
		if f.IsExported() && f.Name != "ResultMetadata" {
			m = append(m, member{strings.ToLower(f.Name[:1]) + f.Name[1:], i})
		}
	}
	shapes.Store(t, m)
	return m
}

// Package wire translates between the SDK's shapes and AWS JSON: one codec and
// one table of routes for every operation.
//
// In Batch, and in GetLogEvents of CloudWatch Logs, the wire name of a member is
// the field's name with its first letter lowered, without exception, so the
// codec needs no names of its own. Times are epoch milliseconds in int64
// members. Blobs, timestamps, unions and documents do not occur in these
// services and are not covered; a shape with one of them is an error, not a guess.
package wire

import (
	"reflect"
	"strings"

	"github.com/batchctl/batchctl/pkg/syncmap"
)

// UnknownMember is the message of an Error about a member that the shape does not have and that is
// not a misspelling.
const UnknownMember = "unknown member"

// Error is a request body that does not match the shape.
type Error struct {
	// Path is the member: `containerProperties.resourceRequirements[0].value`. It is empty if the
	// document as a whole is wrong.
	Path    string
	Message string
}

// Error has the path before the message, if there is one.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// member is a member of a shape.
type member struct {
	// name is the wire name.
	name string
	// index is the index of the struct field.
	index int
}

// shapes has the members of each struct type that was used so far. They follow from the type
// alone, so all calls share them.
var shapes syncmap.Map[reflect.Type, []member]

// members returns the members of a struct type in the order of its fields.
func members(t reflect.Type) []member {
	m, ok := shapes.Load(t)
	if ok {
		return m
	}
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

package call

import (
	"bytes"
	"net/http"
	"reflect"

	"github.com/batchctl/batchctl/pkg/local/api/empty"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Handler serves one operation and returns its output, or an error that is a *wire.Fault or has
// one. An output can be a Stream.
type Handler func(*Call) (any, error)

// Stream is an output that writes its own answer, part by part.
type Stream interface {
	// Stream writes the answer to r and returns when the stream ends.
	Stream(w http.ResponseWriter, r *http.Request)
}

// Serve returns a handler for a method that takes a pointer to an operation's input and returns its output. Empty
// members are absent for the method. The type parameters are pointers because their code is then compiled once, and not
// for each operation.
func Serve[In, Out any](f func(*Call, In) (Out, error)) Handler {
	var input In
	return serve(input, func(c *Call, in any) (any, error) { return f(c, in.(In)) })
}

// serve returns a handler for a method that takes an input of the same type as a nil pointer.
func serve(input any, f func(*Call, any) (any, error)) Handler {
	shape := reflect.TypeOf(input).Elem()
	return func(c *Call) (any, error) {
		in := reflect.New(shape)
		if err := c.decode(in); err != nil {
			return nil, err
		}
		return f(c, in.Interface())
	}
}

// decode reads an operation's input from the body, or for the tag operations also from the path and query.
func (c *Call) decode(in reflect.Value) error {
	if err := wire.ReadInput(c.Request, c.Body, in.Interface()); err != nil {
		return err
	}
	// What reads the body later must see the same request as the handler. The decoder has left out null and
	// empty enumeration values; a body that may have them is encoded again.
	if empty.Drop(in.Elem()) || bytes.Contains(c.Body, []byte("null")) || bytes.Contains(c.Body, []byte(`""`)) {
		var err error
		c.Body, err = wire.Marshal(in.Interface())
		return err
	}
	return nil
}

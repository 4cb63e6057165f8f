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

// Serve returns a handler for a method that takes an operation's input and returns its output. It
// decodes the input from the body, or for the tag operations also from the path and query. Empty
// members are absent for the method.
func Serve[In, Out any](f func(*Call, *In) (*Out, error)) Handler {
	return func(c *Call) (any, error) {
		in := new(In)
		if err := wire.ReadInput(c.Request, c.Body, in); err != nil {
			return nil, err
		}
		// What reads the body later must see the same request as the handler. The decoder has left out null and
		// empty enumeration values; a body that may have them is encoded again.
		if empty.Drop(reflect.ValueOf(in).Elem()) || bytes.Contains(c.Body, []byte("null")) || bytes.Contains(c.Body, []byte(`""`)) {
			var err error
			if c.Body, err = wire.Marshal(in); err != nil {
				return nil, err
			}
		}
		return f(c, in)
	}
}

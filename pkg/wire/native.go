package wire

// Native is an SDK shape inside batchctl's own JSON. It has the member names of
// the AWS API.
type Native[T any] struct{ Shape T }

// MarshalJSON returns the shape as the AWS API writes it.
func (n Native[T]) MarshalJSON() ([]byte, error) { return Marshal(n.Shape) }

// UnmarshalJSON decodes a shape that MarshalJSON wrote.
func (n *Native[T]) UnmarshalJSON(text []byte) error { return Unmarshal(text, &n.Shape) }

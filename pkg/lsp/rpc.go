package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The error codes of JSON-RPC 2.0 and of the protocol that the server uses.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternalError  = -32603
	codeNotInitialized = -32002
)

// rpcError is the error of a response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

func fault(code int, format string, args ...any) *rpcError {
	return &rpcError{code, fmt.Sprintf(format, args...)}
}

// message is a message of the client: a request with an id, a notification without one, or
// a response, which has no method.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

func (m *message) isRequest() bool { return m.Method != nil && m.ID != nil }

func (m *message) isResponse() bool { return m.Method == nil && (m.Result != nil || m.Error != nil) }

// nullID is the id of the response to a request whose id is unreadable (JSON-RPC 2.0,
// section 5).
var nullID = json.RawMessage("null")

// decode reads a message. The message is not nil even if there is an error, and it has the
// ID if that could be read.
func decode(body []byte) (*message, *rpcError) {
	m := &message{ID: nullID}
	switch trimmed := bytes.TrimLeft(body, " \t\r\n"); {
	case !json.Valid(body):
		return m, fault(codeParseError, "the message is not JSON")
	case trimmed[0] == '[':
		return m, fault(codeInvalidRequest, "the protocol has no batches: send one message at a time")
	case trimmed[0] != '{':
		return m, fault(codeInvalidRequest, "a message is a JSON object")
	}
	m.ID = nil
	if err := json.Unmarshal(body, m); err != nil {
		if !isID(m.ID) {
			m.ID = nullID
		}
		return m, fault(codeInvalidRequest, "read message: %v", err)
	}
	switch {
	case m.ID != nil && !isID(m.ID) && !m.isResponse():
		m.ID = nullID
		return m, fault(codeInvalidRequest, "an id is a number or a string")
	case m.Version != "2.0":
		return m.answerable(), fault(codeInvalidRequest, `jsonrpc must be "2.0"`)
	case m.Method == nil && !m.isResponse():
		return m.answerable(), fault(codeInvalidRequest, "the message has no method")
	}
	return m, nil
}

// answerable gives a message without an id the null id, so that its error can be sent.
func (m *message) answerable() *message {
	if m.ID == nil {
		m.ID = nullID
	}
	return m
}

func isID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9')
}

// outgoing is a message of the server. A response has an ID, and a Result or an Error.
type outgoing struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// handler answers a request or handles a notification, whose result is dropped.
type handler func(params json.RawMessage) (any, error)

// with returns a handler for a function with decoded parameters.
func with[P any](f func(P) (any, error)) handler {
	return func(params json.RawMessage) (any, error) {
		var p P
		if len(params) == 0 || string(params) == "null" {
			return nil, fault(codeInvalidParams, "params are missing")
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, fault(codeInvalidParams, "read params: %v", err)
		}
		return f(p)
	}
}

// bare returns a handler for a function without parameters.
func bare(f func() (any, error)) handler {
	return func(json.RawMessage) (any, error) { return f() }
}

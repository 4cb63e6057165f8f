package call

import (
	"net/http"
)

// Call is one request while it is served. Only the goroutine that serves it uses it.
type Call struct {
	// Operation is the name of the operation, as in the SDK; it is set once the request is
	// routed.
	Operation string
	// Request is the HTTP request, whose body has been read into Body.
	Request *http.Request
	Body    []byte
	// Header belongs to the answer.
	Header http.Header
	// notices are the parts of the answer's notice so far.
	notices []string
}

const (
	// ClientHeader, on a request, marks a command of batchctl. It proves nothing: every holder of
	// the key could send it. It keeps other tools from starting root processes by accident.
	ClientHeader = "X-Batchctl-Client"

	// SecretsHeader, on SubmitJob, has the values of secrets of the job; see package secretsource. The
	// journal keeps only the request's body.
	SecretsHeader = "X-Batchctl-Secrets"
)

// invocationHeader has the id of an SDK call. An SDK that gets no answer repeats the request with
// the same id. The engine answers a repeated call with its first answer, so a retried SubmitJob
// creates no second job. AWS has no such guarantee; clients that need it there keep a ledger.
const invocationHeader = "Amz-Sdk-Invocation-Id"

// Invocation returns the operation with the client's id of the call; empty if the client sends
// none, or one that is too long.
func (c *Call) Invocation() string {
	if id := c.Request.Header.Get(invocationHeader); id != "" && len(id) <= 64 {
		return c.Operation + " " + id
	}
	return ""
}

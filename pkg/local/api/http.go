package api

import (
	"errors"
	"io"
	"net/http"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/api/logsapi"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// MaxHeader limits the bytes of a request's headers. Most of them are for call.SecretsHeader.
	MaxHeader = 576 << 10

	// maxBody limits the bytes of a request. AWS accepts 24 KiB (RegisterJobDefinition) and 30
	// KiB (SubmitJob); the operations check that themselves.
	maxBody = 256 << 10
	// maxPutBody is the same for PutLogEvents: 1 MiB of messages, each byte of which can need an escape
	// of 6 bytes, and 10,000 times the names of the members.
	maxPutBody = 8 << 20
)

// ServeHTTP answers only requests that come from this machine, not from a web page, and are signed
// with the engine's key. It rejects requests for other services in their own protocol.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if service := foreignService(r); service != "" && fromNoPage(r) == nil {
		refuseForeign(w, r, service)
		return
	}
	if r.Method == http.MethodGet && r.URL.Path == ChangesPath {
		a.streamChanges(w, r)
		return
	}
	if r.Method == http.MethodPost && r.URL.Path == HandOverPath && a.HandOver != nil {
		a.handOver(w, r)
		return
	}
	c := &call.Call{Request: r, Header: w.Header()}
	out, err := a.answer(c)
	if r.Header.Get("X-Amz-Target") != "" {
		c.Header.Set("Content-Type", "application/x-amz-json-1.1")
	}
	c.Header.Set("X-Amzn-RequestId", call.NewID())
	if err != nil {
		_ = wire.WriteError(w, err) // a client that has disconnected needs no answer
		return
	}
	if s, ok := out.(call.Stream); ok {
		s.Stream(w, r)
		return
	}
	_ = wire.WriteOutput(w, out)
}

// answer checks a request in the order origin, size, signature, operation. A client without the
// key learns nothing else.
func (a *API) answer(c *call.Call) (any, error) {
	if err := fromHere(c.Request); err != nil {
		return nil, err
	}
	limit := maxBody
	if name, _ := wire.LogsOperation(c.Request.Header.Get("X-Amz-Target")); name == "PutLogEvents" {
		limit = maxPutBody
	}
	body, err := readBody(c.Request, limit)
	switch {
	case err != nil:
		return nil, wire.ClientException("read request: %v", err)
	case len(body) > limit:
		return nil, &wire.Fault{Type: "ClientException", Status: http.StatusRequestEntityTooLarge,
			Message: "The request is larger than " + text.ExactSize(int64(limit)) + "."}
	}
	c.Body = body
	// The scope of the signature has the service, so the operation must be found first.
	h, service, unknown := a.route(c)
	if err := a.verifier.verify(c.Request, body, service); err != nil {
		return nil, err
	}
	// An unsigned request, from any program on this machine, must not count as a client. Neither does a live tail, as
	// the stream of changes: a terminal that was left open must not keep the engine alive.
	if a.Verified != nil && c.Operation != logsapi.StartLiveTail {
		a.Verified(c.Request)
	}
	if unknown != nil {
		return nil, unknown
	}
	out, err := h(c)
	if errors.Is(err, call.ErrReadOnly) {
		err = wire.ClientException("%s", err)
	}
	return out, err
}

// readBody reads a body of at most limit+1 bytes.
func readBody(r *http.Request, limit int) ([]byte, error) {
	if n := r.ContentLength; n > 0 && n <= int64(limit) {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	return io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
}

// route finds the operation of a request and the service that it must be signed for. err is for a
// client with a valid signature: the operation does not exist or is not implemented.
func (a *API) route(c *call.Call) (h call.Handler, service string, err error) {
	r := c.Request
	if target := r.Header.Get("X-Amz-Target"); r.URL.Path == "/" && r.Method == http.MethodPost && target != "" {
		// Services with AWS JSON have one path; the header names the operation.
		service, name := "logs", target
		if text, ok := wire.LogsOperation(target); ok {
			name = text
		} else if text, ok := wire.ClusterOperation(target); ok {
			service, name = "ecs", text
		}
		if h = a.services[service][name]; h == nil {
			err = &wire.Fault{Type: "UnknownOperationException", Message: name +
				": the local engine does not implement this operation."}
		}
		c.Operation = name
		return h, service, err
	}
	// Batch uses REST JSON: the path names the operation.
	name, ok := wire.Operation(r.Method, r.URL.Path)
	if !ok {
		err := wire.ClientException("%s %s is not an operation of AWS Batch.", r.Method, r.URL.Path)
		err.Status = http.StatusNotFound
		return nil, "batch", err
	}
	if h = a.services["batch"][name]; h == nil {
		err = wire.ClientException("%s: the local engine does not implement this operation.", name)
	}
	c.Operation = name
	return h, "batch", err
}

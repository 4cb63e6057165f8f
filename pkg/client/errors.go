package client

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// Prefixes of Action in the errors of calls that change something.
const (
	ActionSubmit         = "submit job "
	ActionRegister       = "register job definition "
	ActionCreateResource = "create consumable resource "
)

// RefusedError means that the service rejected a request: nothing was changed.
type RefusedError struct {
	Action string // "submit job train"
	Err    error
}

// Error has the service's message after the action.
func (e *RefusedError) Error() string {
	next := ""
	if Throttled(e.Err) {
		next = "; the service is busy, try again in a minute"
	}
	return fmt.Sprintf("%s: refused: %s%s", e.Action, Cause(e.Err), next)
}

// Unwrap returns the error of the SDK.
func (e *RefusedError) Unwrap() error { return e.Err }

// Code returns the service's name of the error, such as ClientException.
func (e *RefusedError) Code() string {
	if api, ok := errors.AsType[smithy.APIError](e.Err); ok {
		return api.ErrorCode()
	}
	return ""
}

// UnreachableError means that a request was never sent: no connection, no address, no credentials.
type UnreachableError struct {
	Action string
	Err    error
}

// Error has the cause after the action.
func (e *UnreachableError) Error() string {
	if rpc.Login(e.Err) != nil {
		return e.Action + ": nothing was sent: " + Cause(e.Err)
	}
	if u, ok := errors.AsType[*url.Error](e.Err); ok {
		text := e.Action + ": " + (&rpc.NetworkError{Endpoint: endpoint(u), Err: u}).Error()
		if strings.HasPrefix(e.Action, ActionSubmit) {
			text += "; nothing was sent"
		}
		return text
	}
	return fmt.Sprintf("%s: nothing was sent: %s", e.Action, Cause(e.Err))
}

// Unwrap returns the error of the SDK.
func (e *UnreachableError) Unwrap() error { return e.Err }

// AmbiguousError reports a SubmitJob without a clear answer, whose job could not be found. It may
// have been accepted.
type AmbiguousError struct {
	Job, Queue string
	Err        error
}

// Error tells that the job may have been accepted.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("submit job %s: no clear answer (%s); the job may have been accepted", e.Job, Cause(e.Err))
}

// Unwrap returns the error of the call.
func (e *AmbiguousError) Unwrap() error { return e.Err }

// MissingError names ids that the service does not have.
type MissingError struct{ IDs []string }

// Error lists the ids and tells why they may be missing.
func (e *MissingError) Error() string {
	if len(e.IDs) == 1 {
		return NoJob(e.IDs[0])
	}
	return fmt.Sprintf("no jobs %s: they were never at this target, ended so long ago that the target has deleted them, or are service jobs, which batchctl does not show", strings.Join(e.IDs, ", "))
}

// NoJob says why the service may not have a job.
func NoJob(id string) string {
	return fmt.Sprintf("no job %s: it was never at this target, ended so long ago that the target has deleted it, or is a service job, which batchctl does not show", id)
}

// elsewhereError tells where to find the log of a job that has none of its own in CloudWatch.
// Retrying changes nothing.
type elsewhereError struct{ where string }

// Error tells where the log is.
func (e *elsewhereError) Error() string { return e.where }

// callError is any other failure of a call, shorter than the SDK's text.
type callError struct {
	action string
	err    error
}

// Error has the cause after the action. Without credentials no action is possible.
func (e *callError) Error() string {
	if login := rpc.Login(e.err); login != nil {
		return login.Error()
	}
	return e.action + ": " + rpc.Cause(e.err)
}

// Unwrap returns the error of the SDK.
func (e *callError) Unwrap() error { return e.err }

// unknownError is the SDK's code for an error answer without an error name.
const unknownError = "UnknownError"

// Failed converts an error of the SDK to the types of this package. Use it for calls that may be
// repeated; SubmitJob has its own.
func Failed(action string, err error) error {
	switch {
	case Refused(err):
		return &RefusedError{action, err}
	case Unsent(err) && rpc.Login(err) == nil:
		return &UnreachableError{action, err}
	}
	return &callError{action, err}
}

// Refused reports whether the service itself rejected the request. A 4xx without an error name may
// come from a proxy.
func Refused(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorCode() != unknownError && status(err)/100 == 4
}

// Throttled reports whether a request was rejected only because of the request rate.
func Throttled(err error) bool {
	return Refused(err) && (status(err) == http.StatusTooManyRequests ||
		retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary)
}

// answered reports whether a service answered and had an internal problem.
func answered(err error) bool { return Throttled(err) || status(err)/100 == 5 }

// status returns the HTTP status of the answer, 0 if there was none.
func status(err error) int {
	var s interface{ HTTPStatusCode() int }
	if errors.As(err, &s) {
		return s.HTTPStatusCode()
	}
	return 0
}

// Unsent reports whether the connection failed before a byte of the request could be written.
func Unsent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	_, dns := errors.AsType[*net.DNSError](err)
	_, cert := errors.AsType[*tls.CertificateVerificationError](err)
	_, handshake := errors.AsType[tls.RecordHeaderError](err)
	return dns || cert || handshake || errors.Is(err, http.ErrSchemeMismatch)
}

// Cause returns the cause of an error without the wrapping of the SDK.
func Cause(err error) string {
	if login := rpc.Login(err); login != nil {
		return login.Error()
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != unknownError {
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	if code := status(err); code >= 300 {
		return fmt.Sprintf("HTTP %d %s, which is not an answer of AWS; check the target and the network", code,
			http.StatusText(code))
	}
	if unanswered, ok := errors.AsType[*rpc.NetworkError](err); ok {
		return unanswered.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return op.Err.Error()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err.Error()
	}
	if send, ok := errors.AsType[interface {
		error
		ConnectionError() bool
		Unwrap() error
	}](err); ok {
		return send.Unwrap().Error()
	}
	if unread, ok := errors.AsType[*smithy.DeserializationError](err); ok {
		return "the answer cannot be read: " + cmp.Or(errors.Unwrap(unread.Err), unread.Err).Error()
	}
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return op.Err.Error()
	}
	return err.Error()
}

// endpoint returns the scheme and host of a failed request, without its path and query.
func endpoint(u *url.Error) string {
	parsed, err := url.Parse(u.URL)
	if err != nil {
		return u.URL
	}
	return parsed.Scheme + "://" + parsed.Host
}

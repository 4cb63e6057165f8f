package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// NetworkError is a call without an answer.
type NetworkError struct {
	// Endpoint is the address without path and credentials, such as http://127.0.0.1:5000.
	Endpoint string
	// Within is how long the call waited for the answer; 0 if the connection failed.
	Within time.Duration
	Err    error
}

// Error names the address, the cause or the limit, and what to check.
func (e *NetworkError) Error() string {
	remedy := "; check the target and the network"
	at := e.Endpoint
	if proxy := proxyOf(e.Endpoint); proxy != "" {
		at, remedy = at+" through the proxy "+proxy, "; check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
	}
	if e.Within > 0 {
		return fmt.Sprintf("no answer from %s within %v", at, e.Within) + remedy
	}
	text := e.Err.Error()
	if op, ok := errors.AsType[*net.OpError](e.Err); ok && op.Err != nil {
		text = op.Err.Error()
	} else if u, ok := errors.AsType[*url.Error](e.Err); ok {
		text = u.Err.Error()
	}
	return "cannot reach " + at + ": " + text + remedy
}

// proxyOf returns the proxy on the way to an address, without its password; "" if there is none.
func proxyOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || proxy == nil {
		return ""
	}
	return proxy.Scheme + "://" + proxy.Host
}

// Unwrap returns the cause.
func (e *NetworkError) Unwrap() error { return e.Err }

// Silent returns the error for an address that did not answer within a limit. The SDK does not
// retry such a call, since the limit is long.
func Silent(address string, limit time.Duration) error {
	return &NetworkError{Endpoint: endpointIn(address), Within: limit, Err: errSilent}
}

// Within limits each attempt of an SDK call. After the limit the error is that of Silent.
func Within(limit time.Duration) func(*middleware.Stack) error {
	bound := middleware.FinalizeMiddlewareFunc("BatchctlWithin",
		func(ctx context.Context, in middleware.FinalizeInput,
			next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			attempt, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			out, metadata, err := next.HandleFinalize(attempt, in)
			if err != nil && attempt.Err() != nil && ctx.Err() == nil {
				address := "the service"
				if r, ok := in.Request.(*smithyhttp.Request); ok && r.URL != nil {
					address = r.URL.String()
				}
				err = Silent(address, limit)
			}
			return out, metadata, err
		})
	return func(stack *middleware.Stack) error { return stack.Finalize.Insert(bound, "Retry", middleware.After) }
}

// WholeRequest lets the transport read a request until it finishes, also after the answer has begun. By
// then the SDK has closed the request's body, whose WriteTo fails then; its Read reports the end. After
// an error the transport would close the connection, and the rest of the answer would be lost.
func WholeRequest(stack *middleware.Stack) error {
	return stack.Build.Add(middleware.BuildMiddlewareFunc("BatchctlWholeRequest",
		func(ctx context.Context, in middleware.BuildInput,
			next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
			if r, ok := in.Request.(*smithyhttp.Request); ok {
				if body, ok := r.GetStream().(io.ReadSeeker); ok {
					whole, err := r.SetStream(struct{ io.ReadSeeker }{body}) // without WriteTo
					if err != nil {
						return middleware.BuildOutput{}, middleware.Metadata{}, err
					}
					in.Request = whole
				}
			}
			return next.HandleBuild(ctx, in)
		}), middleware.After)
}

// errSilent is the cause of a call that ran into its limit.
var errSilent = errors.New("no answer")

// unanswered adds the address to the error of a call, and the limit if the call ran into it.
// whole is the caller's context; its end is not a fault of the network.
func unanswered(whole context.Context, address string, limit time.Duration, err error) error {
	if whole.Err() != nil {
		return err
	}
	e := &NetworkError{Endpoint: endpointIn(address), Err: err}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		e.Within = limit
	}
	return e
}

// endpointIn returns the scheme and the host of an address.
func endpointIn(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// Unreached reports whether a call failed because of the network: no answer arrived.
func Unreached(err error) bool {
	_, noAnswer := errors.AsType[*NetworkError](err)
	_, notSent := errors.AsType[*smithyhttp.RequestSendError](err)
	return noAnswer || notSent
}

// Cause returns the cause of a failed SDK call without the layers that the SDK puts around it:
// the service's own error, or the address that cannot be reached.
func Cause(err error) string {
	if login := Login(err); login != nil {
		return login.Error()
	}
	if n, ok := errors.AsType[*NetworkError](err); ok {
		return n.Error()
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != "UnknownError" {
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return (&NetworkError{Endpoint: endpointIn(u.URL), Err: u}).Error()
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok &&
		answer.HTTPStatusCode() >= http.StatusMultipleChoices {
		return fmt.Sprintf("HTTP %d %s, which is not an answer of AWS; check the target and the network",
			answer.HTTPStatusCode(), http.StatusText(answer.HTTPStatusCode()))
	}
	if unread, ok := errors.AsType[*smithy.DeserializationError](err); ok {
		return "the answer cannot be read: " + cmp.Or(errors.Unwrap(unread.Err), unread.Err).Error()
	}
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return op.Err.Error()
	}
	return err.Error()
}

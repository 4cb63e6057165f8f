package rpc

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
)

// Error is what a service answered instead of what was asked for.
type Error struct {
	Service, Operation string
	// Code is the service's name of the error; "" where the answer has none.
	Code, Message string
	// Status is the HTTP status.
	Status int
}

func (e *Error) Error() string {
	switch {
	case e.Denied():
		return fmt.Sprintf("not allowed: %s:%s", e.Service, e.Operation)
	case e.Code == "":
		return fmt.Sprintf("%s %s: HTTP %d %s", e.Service, e.Operation, e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s %s: %s: %s", e.Service, e.Operation, e.Code, e.Message)
}

// Denied reports whether these credentials may not call the operation.
func (e *Error) Denied() bool {
	return slices.Contains([]string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized", "AuthorizationError"}, e.Code)
}

// Missing reports whether the thing that was asked for is not there.
func (e *Error) Missing() bool {
	return slices.Contains([]string{"NoSuchEntity", "NoSuchResourceException", "NoSuchBucket", "NoSuchKey"}, e.Code) || strings.HasSuffix(strings.TrimSuffix(e.Code, "Exception"), "NotFound")
}

func (e *Error) throttled() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable ||
		slices.Contains([]string{"Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException", "RequestLimitExceeded", "RequestThrottled", "SlowDown"}, e.Code)
}

// Denied reports whether err says that the credentials may not do that.
func Denied(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Denied()
}

// Throttled reports whether a service refused a call because there were too many.
func Throttled(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.throttled()
}

// Expired reports whether a service found that the credentials of a call are no
// longer good.
func Expired(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (strings.HasPrefix(e.Code, "ExpiredToken") || e.Code == "RequestExpired")
}

// Missing reports whether err says that a thing is not there.
func Missing(err error) bool {
	if api, ok := errors.AsType[smithy.APIError](err); ok { // of a patient call
		return (&Error{Code: api.ErrorCode()}).Missing()
	}
	e, ok := errors.AsType[*Error](err)
	return ok && e.Missing()
}

// readError reads the answer that is no success, in either protocol.
func readError(s Service, operation string, answer *http.Response, text []byte) error {
	e := &Error{Service: s.name, Operation: operation, Status: answer.StatusCode}
	if s.target != "" {
		var said struct {
			Type    string `json:"__type"`
			Message string `json:"message"` // also matches Message
		}
		_ = json.Unmarshal(text, &said) // what cannot be read has no code
		e.Code, e.Message = said.Type, said.Message
		if h := answer.Header.Get("X-Amzn-Errortype"); e.Code == "" {
			e.Code, _, _ = strings.Cut(h, ":")
		}
		e.Code = e.Code[strings.LastIndexByte(e.Code, '#')+1:]
		return e
	}
	type failure struct {
		Code    string
		Message string
	}
	var said struct {
		Error  failure   // <ErrorResponse>
		Errors []failure `xml:"Errors>Error"` // EC2's <Response>
	}
	_ = xml.Unmarshal(text, &said)
	if len(said.Errors) > 0 {
		said.Error = said.Errors[0]
	}
	e.Code, e.Message = said.Error.Code, said.Error.Message
	return e
}

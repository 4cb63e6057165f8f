package rpc

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"
)

// Error is an error answer of a service.
type Error struct {
	Service, Operation string
	// Code is the service's name of the error; "" if the answer has none.
	Code, Message string
	// Status is the HTTP status.
	Status int
	// date is the server's time; zero if the answer has none.
	date time.Time
}

// Error has the service, the operation and the message.
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
	return slices.Contains([]string{"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized",
		"AuthorizationError"}, e.Code)
}

// Missing reports whether the requested resource does not exist.
func (e *Error) Missing() bool {
	return slices.Contains([]string{"NoSuchEntity", "NoSuchResourceException", "NoSuchBucket", "NoSuchKey"}, e.Code) ||
		strings.HasSuffix(strings.TrimSuffix(e.Code, "Exception"), "NotFound")
}

// throttled reports whether there were too many calls.
func (e *Error) throttled() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable ||
		slices.Contains([]string{"Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException",
			"RequestLimitExceeded", "RequestThrottled", "SlowDown"}, e.Code)
}

// Denied reports whether err means that the credentials do not allow a call.
func Denied(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Denied()
}

// Throttled reports whether a service rejected a call because of the request rate.
func Throttled(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.throttled()
}

// Expired reports whether a service rejected the credentials of a call as expired.
func Expired(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (strings.HasPrefix(e.Code, "ExpiredToken") || e.Code == "RequestExpired")
}

// Missing reports whether err means that a resource does not exist.
func Missing(err error) bool {
	if api, ok := errors.AsType[smithy.APIError](err); ok { // of a patient call
		return (&Error{Code: api.ErrorCode()}).Missing()
	}
	e, ok := errors.AsType[*Error](err)
	return ok && e.Missing()
}

// readError decodes an error answer, in either protocol.
func readError(s Service, operation string, answer *http.Response, text []byte) error {
	e := &Error{Service: s.name, Operation: operation, Status: answer.StatusCode, date: dateOf(answer.Header)}
	if s.target != "" || s.path != "" {
		var answerError struct {
			Type    string `json:"__type"`
			Message string `json:"message"` // also matches Message
		}
		_ = json.Unmarshal(text, &answerError) // an unreadable answer has no code
		e.Code, e.Message = answerError.Type, answerError.Message
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
	var answerError struct {
		Error  failure   // <ErrorResponse>
		Errors []failure `xml:"Errors>Error"` // EC2's <Response>
	}
	_ = xml.Unmarshal(text, &answerError)
	if len(answerError.Errors) > 0 {
		answerError.Error = answerError.Errors[0]
	}
	e.Code, e.Message = answerError.Error.Code, answerError.Error.Message
	return e
}

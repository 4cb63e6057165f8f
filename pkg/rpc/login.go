package rpc

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/batchctl/batchctl/pkg/text"
)

// LoginError is a fault of the credentials or of their configuration: every call with them fails. Package target
// creates it for credentials that it cannot get, and AsLogin for credentials that a service rejects.
type LoginError struct {
	// What is wrong, and Fix, what to do, are parts of a message.
	What, Fix string
	Err       error
}

// Error returns what is wrong, without the layers that the SDK puts around it.
func (e *LoginError) Error() string { return e.What }

// Remedy returns what to do; package exit prints it as the next step.
func (e *LoginError) Remedy() string { return e.Fix }

// Unwrap returns the error of the SDK.
func (e *LoginError) Unwrap() error { return e.Err }

// Login returns the fault of the credentials in the chain of err; nil if there is none.
func Login(err error) *LoginError {
	e, _ := errors.AsType[*LoginError](err)
	return e
}

// The codes of services that reject credentials. The names differ by protocol and service.
var (
	expiredCodes = []string{"ExpiredToken", "ExpiredTokenException"}
	unknownCodes = []string{"UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId",
		"AuthFailure", "MissingAuthenticationToken", "MissingAuthenticationTokenException"}
	signatureCodes = []string{"SignatureDoesNotMatch", "InvalidSignatureException"}
	timeCodes      = []string{"RequestExpired", "RequestTimeTooSkewed", "RequestInTheFuture"}
)

// skewLimit is the difference between two clocks from which AWS rejects signatures.
const skewLimit = 5 * time.Minute

// AsLogin returns err as a *LoginError if a service rejected the credentials or the signature of a call, else err.
func AsLogin(err error) error {
	if err == nil || Login(err) != nil {
		return err
	}
	code, server := codeAndTime(err)
	e := &LoginError{Err: err}
	skew := time.Duration(0)
	if !server.IsZero() {
		skew = time.Since(server).Round(time.Minute)
	}
	isTime := slices.Contains(timeCodes, code)
	switch {
	case slices.Contains(expiredCodes, code):
		e.What = "the AWS session has expired (" + code + ")"
		e.Fix = "log in: aws sso login, or get new session credentials"
	case slices.Contains(unknownCodes, code):
		e.What = "AWS does not accept these credentials (" + code + ")"
		e.Fix = "check the key: aws sts get-caller-identity; it may be deleted or inactive, lack its session token, or the Region may not be enabled in the account"
	case (isTime || slices.Contains(signatureCodes, code)) && skew.Abs() >= skewLimit:
		e.What = fmt.Sprintf("the local clock differs by %s from the clock of AWS (%s)",
			text.ExactDuration(skew.Abs()), code)
		e.Fix = "set the local clock, for example with NTP"
	case isTime:
		e.What = "the signature of the request has expired (" + code + ")"
		e.Fix = "check the local clock, then repeat"
	case slices.Contains(signatureCodes, code):
		e.What = "the secret access key does not belong to the access key (" + code + ")"
		e.Fix = "enter the key again: aws configure, or set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	default:
		return err
	}
	return e
}

// codeAndTime returns the code of an error answer, and the time of the server that sent it; both can be zero.
func codeAndTime(err error) (code string, server time.Time) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code, e.date
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return "", time.Time{}
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.Response != nil &&
		answer.Response.Response != nil {
		server = dateOf(answer.Response.Header)
	}
	return api.ErrorCode(), server
}

// dateOf returns the time of an answer; zero if it has none.
func dateOf(header http.Header) time.Time {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return date
}

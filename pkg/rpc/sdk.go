package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// SDK returns a configuration for the SDK's own client of a service whose calls use Attempt:
// without the SDK's retries, and with the address of each request recorded.
func SDK(cfg aws.Config) aws.Config {
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	note := middleware.FinalizeMiddlewareFunc("NoteAddress", func(ctx context.Context, in middleware.FinalizeInput,
		next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		r, isRequest := in.Request.(*smithyhttp.Request)
		if address, ok := ctx.Value(addressKey{}).(*string); ok && isRequest {
			*address = r.URL.String()
		}
		return next.HandleFinalize(ctx, in)
	})
	cfg.APIOptions = append(cfg.APIOptions[:len(cfg.APIOptions):len(cfg.APIOptions)], WholeRequest,
		func(stack *middleware.Stack) error {
			return stack.Finalize.Add(note, middleware.After)
		})
	return cfg
}

// addressKey is the context key of a *string that receives the address of a call.
type addressKey struct{}

// Attempt makes one attempt of a call of an SDK client with a configuration of SDK, within
// callTimeout. An error answer is an *Error, and a call without an answer a *NetworkError.
func Attempt[In, Out, Option any](whole context.Context, call func(context.Context, In, ...func(Option)) (Out, error),
	in In) (out Out, err error) {
	var address string
	ctx, cancel := context.WithTimeout(context.WithValue(whole, addressKey{}, &address), callTimeout)
	defer cancel()
	if out, err = call(ctx, in); err != nil {
		err = sdkError(whole, address, err)
	}
	return out, err
}

// Again makes an attempt, and repeats it once after a pause if the service throttles it.
func Again[In, Out, Option any](ctx context.Context, call func(context.Context, In, ...func(Option)) (Out, error),
	in In) (Out, error) {
	return again(ctx, func() (Out, error) { return Attempt(ctx, call, in) })
}

// sdkError converts an error of an SDK client to the types of this package.
func sdkError(whole context.Context, address string, err error) error {
	op, ok := errors.AsType[*smithy.OperationError](err)
	if !ok {
		return err
	}
	service := strings.ToLower(strings.ReplaceAll(op.ServiceID, " ", ""))
	if service == "cloudwatchlogs" {
		service = "logs" // as in the permissions that it needs
	}
	api, isAPI := errors.AsType[smithy.APIError](err)
	if login := Login(err); login != nil && !isAPI {
		return login // no request was sent
	}
	status := 0
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = answer.HTTPStatusCode()
	}
	switch {
	case isAPI && api.ErrorCode() != "UnknownError":
		_, date := codeAndTime(err)
		return AsLogin(&Error{Service: service, Operation: op.OperationName, Code: api.ErrorCode(),
			Message: api.ErrorMessage(), Status: status, date: date})
	case status/100 > 2:
		return &Error{Service: service, Operation: op.OperationName, Status: status}
	}
	send, isSend := errors.AsType[*smithyhttp.RequestSendError](err)
	_, isCanceled := errors.AsType[*smithy.CanceledError](err)
	cause := op.Err
	switch {
	case isSend:
		cause = unanswered(whole, address, callTimeout, send.Err)
	case isCanceled || errors.Is(err, context.DeadlineExceeded):
		cause = unanswered(whole, address, callTimeout, err)
	default:
		if u, ok := errors.AsType[*url.Error](err); ok {
			cause = unanswered(whole, address, callTimeout, u)
		}
	}
	return fmt.Errorf("%s %s: %w", service, op.OperationName, cause)
}

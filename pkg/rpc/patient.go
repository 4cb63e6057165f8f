package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/wire"
)

// patiently calls an operation as the service's own client in the SDK would, for what is no
// mere evidence: with the retries that the configuration asks for, by the SDK's own loop;
// with the service's clock where this machine's is wrong; for as long as an answer takes,
// if it comes at all; and with the SDK's errors. in is a shape of wire.
func (c *Client) patiently(ctx context.Context, s Service, operation string, in, out any) error {
	body, err := wire.Marshal(in)
	if err != nil {
		return err
	}
	var skew time.Duration
	attempt := func(whole context.Context, _ middleware.FinalizeInput) (_ middleware.FinalizeOutput, metadata middleware.Metadata, err error) {
		ctx, cancel := context.WithTimeout(whole, patience)
		defer cancel()
		r, err := c.signed(ctx, s, jsonHeader(s, operation), body, time.Now().Add(skew))
		if err != nil {
			return middleware.FinalizeOutput{}, metadata, err
		}
		defer func() {
			if err != nil && ctx.Err() != nil && whole.Err() == nil {
				err = Silent(r.URL.String(), patience)
			}
		}()
		answer, metadata, err := (&awsmiddleware.RecordResponseTiming{}).HandleDeserialize(ctx, middleware.DeserializeInput{Request: r}, middleware.DeserializeHandlerFunc(c.send))
		if err == nil {
			skew, _ = awsmiddleware.GetAttemptSkew(metadata)
			err = readAnswer(s, operation, answer.RawResponse.(*smithyhttp.Response), out)
		}
		return middleware.FinalizeOutput{}, metadata, err
	}
	_, _, err = c.attempts.HandleFinalize(ctx, middleware.FinalizeInput{}, middleware.FinalizeHandlerFunc(attempt))
	if err != nil {
		return &smithy.OperationError{ServiceID: s.name, OperationName: operation, Err: err}
	}
	return nil
}

// send gives an error of the connection the SDK's type, by which it is known as one to repeat.
func (c *Client) send(ctx context.Context, in middleware.DeserializeInput) (out middleware.DeserializeOutput, metadata middleware.Metadata, err error) {
	answer, err := c.cfg.HTTPClient.Do(in.Request.(*http.Request))
	switch {
	case err != nil && ctx.Err() != nil:
		return out, metadata, &smithy.CanceledError{Err: ctx.Err()}
	case err != nil:
		return out, metadata, &smithyhttp.RequestSendError{Err: err}
	}
	out.RawResponse = &smithyhttp.Response{Response: answer}
	return out, metadata, nil
}

// readAnswer decodes an answer, or the error that it is.
func readAnswer(s Service, operation string, answer *smithyhttp.Response, out any) error {
	text, err := readBody(answer.Response)
	if err == nil && answer.StatusCode/100 != 2 {
		e, _ := errors.AsType[*Error](readError(s, operation, answer.Response, text))
		err = &smithy.GenericAPIError{Code: cmp.Or(e.Code, "UnknownError"), Message: e.Message}
	} else if page, ok := out.(interface{ Decode([]byte) error }); ok && err == nil {
		err = page.Decode(text)
	} else if err == nil {
		err = json.Unmarshal(wire.PlainIntegers(text, s.millis), out)
	}
	if err != nil {
		return &awshttp.ResponseError{RequestID: answer.Header.Get("X-Amzn-Requestid"), ResponseError: &smithyhttp.ResponseError{Response: answer, Err: err}}
	}
	return nil
}

// retries is the SDK's loop of attempts, as the configuration wants it.
func retries(cfg aws.Config) *retry.Attempt {
	// There is nothing to rewind or to clone: each attempt makes its own request.
	return retry.NewAttemptMiddleware(retryer(cfg), func(request any) any { return request })
}

func retryer(cfg aws.Config) (r aws.Retryer) {
	switch {
	case cfg.Retryer != nil:
		r = cfg.Retryer()
	case cfg.RetryMode == aws.RetryModeAdaptive:
		r = retry.NewAdaptiveMode()
	default:
		r = retry.NewStandard()
	}
	if cfg.RetryMaxAttempts > 0 {
		r = retry.AddWithMaxAttempts(r, cfg.RetryMaxAttempts)
	}
	return r
}

package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"

	"github.com/batchctl/batchctl/pkg/rpc"
)

const (
	// AttemptTimeout limits one attempt of a call. A service that has not answered by then is
	// unlikely to answer at all.
	AttemptTimeout = time.Minute
	// maxAnswer limits an answer, in bytes. A description of a hundred jobs, each with the longest
	// definition and overrides that AWS accepts, takes a fifth of it.
	maxAnswer = 32 << 20
)

// onward rejects a page whose token is the one of the request. Following it would never finish,
// and stopping there would silently lose the rest.
func onward(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("BatchctlOnward",
		func(ctx context.Context, in middleware.InitializeInput,
			next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			if sent := pageToken(in.Parameters); err == nil && sent != "" && sent == pageToken(out.Result) {
				err = rpc.ErrEndless
			}
			return out, metadata, err
		}), middleware.Before)
}

// pageToken returns the member nextToken of an input or output; "" if it has none.
func pageToken(message any) string {
	if s := reflect.Indirect(reflect.ValueOf(message)); s.Kind() == reflect.Struct {
		if f := s.FieldByName("NextToken"); f.IsValid() {
			token, _ := f.Interface().(*string)
			return aws.ToString(token)
		}
	}
	return ""
}

// bounded is an HTTP client whose answers fail after maxAnswer bytes.
type bounded struct{ aws.HTTPClient }

// Do sends a request and bounds the body of the answer.
func (b bounded) Do(r *http.Request) (*http.Response, error) {
	answer, err := b.HTTPClient.Do(r)
	if err == nil && answer.Body != nil {
		answer.Body = Bounded(answer.Body)
	}
	return answer, err
}

// Bounded returns a reader that fails when an answer is longer than any answer of AWS Batch.
func Bounded(answer io.ReadCloser) io.ReadCloser { return &boundedBody{answer, maxAnswer + 1} }

// boundedBody is a body with the number of bytes that may still be read.
type boundedBody struct {
	io.ReadCloser
	left int
}

// Read fails after the last allowed byte. It does not cut the body: a truncated answer could look
// complete.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

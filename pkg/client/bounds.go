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
	// AttemptTimeout bounds one attempt of a call: an answer that has not come by then
	// will not come.
	AttemptTimeout = time.Minute
	// maxAnswer bounds an answer, in bytes. A hundred jobs that are described, each with
	// a definition and overrides as long as AWS takes them, are a fifth of it.
	maxAnswer = 32 << 20
)

// onward refuses a page that leads to itself: who follows it never comes to an end, and
// who stops there takes a part for the whole.
func onward(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("BatchctlOnward",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			if sent := pageToken(in.Parameters); err == nil && sent != "" && sent == pageToken(out.Result) {
				err = rpc.ErrEndless
			}
			return out, metadata, err
		}), middleware.Before)
}

// pageToken is the member nextToken of a request or an answer; "" where there is none.
func pageToken(shape any) string {
	if s := reflect.Indirect(reflect.ValueOf(shape)); s.Kind() == reflect.Struct {
		if f := s.FieldByName("NextToken"); f.IsValid() {
			token, _ := f.Interface().(*string)
			return aws.ToString(token)
		}
	}
	return ""
}

// bounded is an HTTP client whose answers break off with an error after maxAnswer.
type bounded struct{ aws.HTTPClient }

func (b bounded) Do(r *http.Request) (*http.Response, error) {
	answer, err := b.HTTPClient.Do(r)
	if err == nil && answer.Body != nil {
		answer.Body = Bounded(answer.Body)
	}
	return answer, err
}

// Bounded is an answer that breaks off with an error where it is longer than any answer of
// AWS Batch.
func Bounded(answer io.ReadCloser) io.ReadCloser { return &boundedBody{answer, maxAnswer + 1} }

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

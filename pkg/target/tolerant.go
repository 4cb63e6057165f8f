package target

import (
	"bytes"
	"context"
	"io"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/wire"
)

// tolerant makes every client of a configuration accept the numbers of servers such as moto: 1.0
// for 1, and in Batch and CloudWatch Logs 1.5 for 1, such as a time with a fraction of a
// millisecond. It changes the answers and leaves the HTTP client to the SDK, which sets its
// timeouts, certificates and proxy. AWS's own answers have no such numbers and stay unchanged. So
// do answers of S3, which are contents of objects, or XML.
func tolerant(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("BatchctlTolerant",
		func(ctx context.Context, in middleware.DeserializeInput,
			next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleDeserialize(ctx, in)
			answer, ok := out.RawResponse.(*smithyhttp.Response)
			service := awsmiddleware.GetServiceID(ctx)
			if err != nil || !ok || answer.Body == nil || service == s3.ServiceID {
				return out, metadata, err
			}
			answer.Body = PlainIntegers(answer.Body, service == awsbatch.ServiceID ||
				service == cloudwatchlogs.ServiceID)
			return out, metadata, nil
		}), middleware.After)
}

// PlainIntegers returns an answer with plain integers if it is JSON; with truncate, integers
// replace numbers with a fraction. If the answer fails, so does the reader, with the same error,
// which the SDK needs to decide on retries.
func PlainIntegers(answer io.ReadCloser, truncate bool) io.ReadCloser {
	text, err := io.ReadAll(client.Bounded(answer))
	if trimmed := bytes.TrimSpace(text); err == nil && (bytes.HasPrefix(trimmed, []byte("{")) ||
		bytes.HasPrefix(trimmed, []byte("["))) {
		text = wire.PlainIntegers(text, truncate)
	}
	return &readAnswer{io.MultiReader(bytes.NewReader(text), Broken{err}), answer}
}

type readAnswer struct {
	io.Reader
	io.Closer
}

// Broken is a reader that fails with err, or is at its end if err is nil.
type Broken struct{ Err error }

// Read returns Err, or io.EOF if it is nil.
func (b Broken) Read([]byte) (int, error) {
	if b.Err != nil {
		return 0, b.Err
	}
	return 0, io.EOF
}

package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// mute is a server that accepts a request and never answers, or never finishes its answer.
type mute struct{ header bool }

func (m mute) Do(r *http.Request) (*http.Response, error) {
	if m.header {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: muteBody{r.Context()}}, nil
	}
	<-r.Context().Done()
	return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: r.Context().Err()}
}

type muteBody struct{ ctx context.Context }

func (b muteBody) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }
func (b muteBody) Close() error             { return nil }

// fails is a connection that breaks with an error.
type fails struct{ err error }

func (f fails) Do(r *http.Request) (*http.Response, error) {
	return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: f.err}
}

// TestUnanswered checks that a call without an answer names the address, the limit or the cause,
// and what to check. The end of the caller's own context does not count as a fault of the
// address.
func TestUnanswered(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connect: connection refused")}
	for name, tt := range map[string]struct {
		http aws.HTTPClient
		is   error
		want string
	}{
		"silent":            {mute{}, context.DeadlineExceeded, "no answer from http://127.0.0.1:5000 within 10s; check the target and the network"},
		"silent after that": {mute{header: true}, context.DeadlineExceeded, "no answer from http://127.0.0.1:5000 within 10s; check the target and the network"},
		"dead":              {fails{refused}, refused, "cannot reach http://127.0.0.1:5000: connect: connection refused; check the target and the network"},
		"cut":               {fails{io.EOF}, io.EOF, "cannot reach http://127.0.0.1:5000: EOF; check the target and the network"},
		"reset":             {fails{&net.OpError{Op: "read", Err: syscall.ECONNRESET}}, syscall.ECONNRESET, "cannot reach http://127.0.0.1:5000: connection reset by peer; check the target and the network"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := aws.Config{Region: "eu-central-1", HTTPClient: tt.http, BaseEndpoint: aws.String("http://user:secret@127.0.0.1:5000/path"),
					Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "token")}
				for _, call := range []struct {
					what string
					make func(context.Context) error
				}{
					{"iam GetRole: ", func(ctx context.Context) error { _, err := New(cfg).FindRole(ctx, "a"); return err }},
					{"ecr ListImages: ", func(ctx context.Context) error { _, err := New(cfg).HasImages(ctx, "a"); return err }},
				} {
					err := call.make(t.Context())
					if err == nil || err.Error() != call.what+tt.want || !errors.Is(err, tt.is) {
						t.Errorf("%v\nwant %s%s", err, call.what, tt.want)
					}
					ended, cancel := context.WithCancel(t.Context())
					cancel()
					if err := call.make(ended); err == nil || strings.Contains(err.Error(), "within") {
						t.Errorf("after the caller's end: %v", err)
					}
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		cfg := aws.Config{Region: "eu-central-1", HTTPClient: mute{}, BaseEndpoint: aws.String("http://127.0.0.1:5000"),
			Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "token"), RetryMaxAttempts: 1}
		_, err := New(cfg).GetLogEvents(t.Context(), &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("g"), LogStreamName: aws.String("s")})
		if err == nil || !strings.Contains(err.Error(), "no answer from http://127.0.0.1:5000 within 1m0s; check the target and the network") {
			t.Error(err)
		}
	})
}

func TestCause(t *testing.T) {
	wrapped := func(err error) error {
		return &smithy.OperationError{ServiceID: "Batch", OperationName: "DescribeJobs", Err: err}
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{wrapped(&smithy.GenericAPIError{Code: "ClientException", Message: "no"}), "ClientException: no"},
		{wrapped(&smithyhttp.RequestSendError{Err: &url.Error{Op: "Post", URL: "http://h:1/v1", Err: io.EOF}}), "cannot reach http://h:1: EOF; check the target and the network"},
		{wrapped(Silent("http://h:1/v1?secret=1", patience)), "no answer from http://h:1 within 1m0s; check the target and the network"},
		{wrapped(&smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: 502}}, Err: io.EOF}), "HTTP 502 Bad Gateway, which is not an answer of AWS; check the target and the network"},
		{wrapped(&smithy.DeserializationError{Err: errors.New("odd")}), "the answer cannot be read: odd"},
		{wrapped(errors.New("odd")), "odd"},
		{errors.New("odd"), "odd"},
	} {
		if got := Cause(tt.err); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.err, got, tt.want)
		}
	}
}

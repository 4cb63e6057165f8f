package client

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/client/clienttest"
)

func served(serve func() *http.Response) (*http.Response, error) { return serve(), nil }

// silent keeps a connection open without an answer.
func silent(f *clienttest.Fake) clienttest.Fault {
	var asked context.Context
	f.Saw = func(r *http.Request) { asked = r.Context() }
	return func(func() *http.Response) (*http.Response, error) {
		<-asked.Done()
		return nil, asked.Err()
	}
}

func TestWatchGoesOnAfterASilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = clienttest.Life("a", clienttest.At(0, "RUNNING", ""), clienttest.At(30*time.Second, "SUCCEEDED", ""))
		f.Faults["DescribeJobs"] = []clienttest.Fault{served, silent(f)}
		var trouble []string
		c.Warn = func(err error) { trouble = append(trouble, err.Error()) }
		got, err := watched(t.Context(), c, "1")
		if err != nil || len(got) != 2 || !strings.Contains(got[1], "SUCCEEDED") {
			t.Errorf("%q, %v", got, err)
		}
		if diff := cmp.Diff([]string{"describe jobs: no answer from http://fake within 1m0s; check the target and the network"}, trouble); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLogsGoOnAfterASilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = withLogs("s", clienttest.Life("a", clienttest.At(0, "RUNNING", ""), clienttest.At(30*time.Second, "SUCCEEDED", "")))
		f.Events["s"] = written("one", "two", "three")
		f.Faults["GetLogEvents"] = append(clienttest.Times(3, served), silent(f))
		got, err := texts(t.Context(), c, true)
		if diff := cmp.Diff([]string{"one", "two", "three"}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestLogsOfAnAnswerWithoutATokenDoNotBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.Jobs["1"] = withLogs("s", clienttest.Life("a", clienttest.At(0, "RUNNING", ""), clienttest.At(5*time.Second, "SUCCEEDED", "")))
		f.Events["s"] = written("one", "two", "three")
		f.Faults["GetLogEvents"] = []clienttest.Fault{served, clienttest.Reply(200, "", `{"events":[]}`)}
		got, err := texts(t.Context(), c, true)
		if diff := cmp.Diff([]string{"one", "two", "three"}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// TestListsThatDoNotEnd checks each kind of list against a service whose pages name themselves as
// the next page.
func TestListsThatDoNotEnd(t *testing.T) {
	for operation, list := range map[string]func(context.Context, *Client) error{
		"ListJobs": func(ctx context.Context, c *Client) error {
			_, err := collect(c.List(ctx, Filter{Queues: []string{"q"}}))
			return err
		},
		"DescribeJobQueues":           func(ctx context.Context, c *Client) error { _, err := c.Queues(ctx); return err },
		"DescribeComputeEnvironments": func(ctx context.Context, c *Client) error { _, err := c.Environments(ctx); return err },
		"DescribeJobDefinitions":      func(ctx context.Context, c *Client) error { _, err := c.RegisteredDefinition(ctx, "a"); return err },
	} {
		f, c := newFake(t)
		f.Faults[operation] = clienttest.Times(5, clienttest.Reply(200, "", `{"nextToken":"again"}`))
		if err := list(t.Context(), c); err == nil || !strings.Contains(err.Error(), "the list does not end") || f.Count(operation) != 2 {
			t.Errorf("%s: %v after %d calls", operation, err, f.Count(operation))
		}
	}
}

// endless is a body without an end.
type endless struct {
	io.Reader
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if n == 0 || err != nil {
		for n = range p {
			p[n] = "{},"[(e.read+n)%3] // a multiple of three came before
		}
		n, err = len(p), nil
	}
	e.read += n
	return n, err
}

func TestAnAnswerThatDoesNotEndIsBrokenOff(t *testing.T) {
	f, c := newFake(t)
	body := &endless{Reader: strings.NewReader(`{"ignored":[`)}
	f.Faults["DescribeJobs"] = []clienttest.Fault{func(func() *http.Response) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body)}, nil
	}}
	_, err := c.Describe(t.Context(), "1")
	if err == nil || !strings.Contains(err.Error(), "the answer is longer than") || body.read > maxAnswer+1<<20 {
		t.Errorf("%v after %d bytes", err, body.read)
	}
}

func TestAnAnswerAsLongAsMayBeIsRead(t *testing.T) {
	f, c := newFake(t)
	f.Jobs["1"] = func(time.Duration) *types.JobDetail {
		return &types.JobDetail{JobId: aws.String("1"), JobName: aws.String("a"), StatusReason: aws.String(strings.Repeat("x", maxAnswer/2)), Status: "RUNNING"}
	}
	if got, err := c.Describe(t.Context(), "1"); err != nil || len(*got[0].StatusReason) != maxAnswer/2 {
		t.Error(err)
	}
}

// TestRequestOutlivesItsAnswer: the transport may read the end of a request after the answer has begun. An error there
// closes the connection, and with it the answer.
func TestRequestOutlivesItsAnswer(t *testing.T) {
	f, c := newFake(t)
	var sent io.Reader
	f.Saw = func(r *http.Request) { sent = r.Body }
	f.Faults["GetLogEvents"] = []clienttest.Fault{clienttest.Reply(200, "", `{"events":[]}`)}
	for name, call := range map[string]func() error{
		"Batch": func() error {
			_, err := c.API.ListJobs(t.Context(), &awsbatch.ListJobsInput{JobQueue: aws.String("queue")})
			return err
		},
		"CloudWatch Logs": func() error {
			_, err := c.JobLogs.service.GetLogEvents(t.Context(), &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("group"), LogStreamName: aws.String("stream")})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := io.Copy(io.Discard, sent); err != nil {
			t.Errorf("%s: the end of the request: %v", name, err)
		}
	}
}

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
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"
)

func served(serve func() *http.Response) (*http.Response, error) { return serve(), nil }

// silent keeps a connection open on which no answer comes.
func silent(f *fake) fault {
	var asked context.Context
	f.saw = func(r *http.Request) { asked = r.Context() }
	return func(func() *http.Response) (*http.Response, error) {
		<-asked.Done()
		return nil, asked.Err()
	}
}

func TestWatchGoesOnAfterASilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.jobs["1"] = life("a", stage{0, "RUNNING", ""}, stage{30 * time.Second, "SUCCEEDED", ""})
		f.faults["DescribeJobs"] = []fault{served, silent(f)}
		var trouble []string
		c.Trouble = func(err error) { trouble = append(trouble, err.Error()) }
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
		f.jobs["1"] = withLogs("s", life("a", stage{0, "RUNNING", ""}, stage{30 * time.Second, "SUCCEEDED", ""}))
		f.events["s"] = written("one", "two", "three")
		f.faults["GetLogEvents"] = append(times(3, served), silent(f))
		got, err := texts(t.Context(), c, true)
		if diff := cmp.Diff([]string{"one", "two", "three"}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestLogsOfAnAnswerWithoutATokenDoNotBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.jobs["1"] = withLogs("s", life("a", stage{0, "RUNNING", ""}, stage{5 * time.Second, "SUCCEEDED", ""}))
		f.events["s"] = written("one", "two", "three")
		f.faults["GetLogEvents"] = []fault{served, says(200, "", `{"events":[]}`)}
		got, err := texts(t.Context(), c, true)
		if diff := cmp.Diff([]string{"one", "two", "three"}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// TestListsThatDoNotEnd has each kind of list name a page as its own next one.
func TestListsThatDoNotEnd(t *testing.T) {
	for operation, list := range map[string]func(context.Context, *Client) error{
		"ListJobs": func(ctx context.Context, c *Client) error {
			_, err := collect(c.List(ctx, Filter{Queues: []string{"q"}}))
			return err
		},
		"DescribeJobQueues":           func(ctx context.Context, c *Client) error { _, err := c.Queues(ctx); return err },
		"DescribeComputeEnvironments": func(ctx context.Context, c *Client) error { _, err := c.Environments(ctx); return err },
		"DescribeJobDefinitions":      func(ctx context.Context, c *Client) error { _, err := c.registeredDefinition(ctx, "a"); return err },
		"ListConsumableResources":     func(ctx context.Context, c *Client) error { _, err := c.Resources(ctx); return err },
	} {
		f, c := newFake(t)
		f.faults[operation] = times(5, says(200, "", `{"nextToken":"again"}`))
		if err := list(t.Context(), c); err == nil || !strings.Contains(err.Error(), "the list does not end") || f.count(operation) != 2 {
			t.Errorf("%s: %v after %d calls", operation, err, f.count(operation))
		}
	}
}

// endless is a body that goes on for as long as somebody reads.
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
	f.faults["DescribeJobs"] = []fault{func(func() *http.Response) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body)}, nil
	}}
	_, err := c.Describe(t.Context(), "1")
	if err == nil || !strings.Contains(err.Error(), "the answer is longer than") || body.read > maxAnswer+1<<20 {
		t.Errorf("%v after %d bytes", err, body.read)
	}
}

func TestAnAnswerAsLongAsMayBeIsRead(t *testing.T) {
	f, c := newFake(t)
	f.jobs["1"] = func(time.Duration) *types.JobDetail {
		return &types.JobDetail{JobId: aws.String("1"), JobName: aws.String("a"), StatusReason: aws.String(strings.Repeat("x", maxAnswer/2)), Status: "RUNNING"}
	}
	if got, err := c.Describe(t.Context(), "1"); err != nil || len(*got[0].StatusReason) != maxAnswer/2 {
		t.Error(err)
	}
}

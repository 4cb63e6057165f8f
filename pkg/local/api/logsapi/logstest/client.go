// Package logstest has a client of CloudWatch Logs for tests, of an engine or of an API without one.
package logstest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/smithy-go"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/wire"
)

// New returns a client of an engine.
func New(t testing.TB, config aws.Config) Client {
	return Client{cloudwatchlogs.NewFromConfig(config), t}
}

// On returns a client of operations, without an engine.
func On(t testing.TB, operations map[string]call.Handler) Client {
	return New(t, aws.Config{Region: model.Region, Credentials: aws.AnonymousCredentials{},
		HTTPClient: direct(operations)})
}

// direct is an HTTP client that calls the operations.
type direct map[string]call.Handler

// Do calls the operation of a request.
func (d direct) Do(r *http.Request) (*http.Response, error) {
	name, _ := wire.LogsOperation(r.Header.Get("X-Amz-Target"))
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/x-amz-json-1.1")
	out, err := d[name](&call.Call{Operation: name, Request: r, Body: body, Header: answer.Header()})
	if err != nil {
		err = wire.WriteError(answer, err)
	} else {
		err = wire.WriteOutput(answer, out)
	}
	return answer.Result(), err
}

// Client is the SDK's client of CloudWatch Logs, with a test that fails at each unexpected error.
type Client struct {
	*cloudwatchlogs.Client
	T testing.TB
}

// Must fails the test for an error.
func (c Client) Must(err error) {
	c.T.Helper()
	if err != nil {
		c.T.Fatal(err)
	}
}

// Create creates a group, and streams in it.
func (c Client) Create(group string, streams ...string) {
	c.T.Helper()
	modeltest.Must(c.T, c.CreateLogGroup, &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &group})
	for _, s := range streams {
		modeltest.Must(c.T, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &group, LogStreamName: &s})
	}
}

// Put puts messages into a stream, one millisecond apart.
func (c Client) Put(group, stream string, from time.Time, messages ...string) (*cloudwatchlogs.PutLogEventsOutput,
	error) {
	in := &cloudwatchlogs.PutLogEventsInput{LogGroupName: &group, LogStreamName: &stream,
		SequenceToken: aws.String("ignored")}
	for i, m := range messages {
		in.LogEvents = append(in.LogEvents, types.InputLogEvent{Message: &m,
			Timestamp: aws.Int64(from.UnixMilli() + int64(i))})
	}
	return c.PutLogEvents(c.T.Context(), in)
}

// Read returns the messages of a stream, from its head and in pages of 2 events.
func (c Client) Read(group, stream string) (messages []string) {
	c.T.Helper()
	in := &cloudwatchlogs.GetLogEventsInput{LogGroupName: &group, LogStreamName: &stream, Limit: aws.Int32(2),
		StartFromHead: aws.Bool(true)}
	for {
		out := modeltest.Must(c.T, c.GetLogEvents, in)
		for _, e := range out.Events {
			messages = append(messages, *e.Message)
		}
		if in.NextToken != nil && *in.NextToken == *out.NextForwardToken {
			return messages
		}
		in.NextToken = out.NextForwardToken
	}
}

// Describe returns everything that the engine describes of its groups and streams, without the default group.
func (c Client) Describe() string {
	c.T.Helper()
	var text strings.Builder
	groups := modeltest.Must(c.T, c.DescribeLogGroups, &cloudwatchlogs.DescribeLogGroupsInput{})
	for _, g := range groups.LogGroups {
		if *g.LogGroupName == model.DefaultLogGroup {
			continue
		}
		fmt.Fprintf(&text, "%s %s %d %v\n", *g.LogGroupName, g.LogGroupClass, aws.ToInt32(g.RetentionInDays),
			aws.ToInt64(g.CreationTime))
		streams := modeltest.Must(c.T, c.DescribeLogStreams,
			&cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: g.LogGroupName})
		for _, s := range streams.LogStreams {
			fmt.Fprintf(&text, "  %s %d %d %d %d: %q\n", *s.LogStreamName, aws.ToInt64(s.CreationTime),
				aws.ToInt64(s.FirstEventTimestamp),
				aws.ToInt64(s.LastEventTimestamp), aws.ToInt64(s.LastIngestionTime), c.Read(*g.LogGroupName, *s.LogStreamName))
		}
	}
	return text.String()
}

// Failed checks the type of an error of CloudWatch Logs.
func (c Client) Failed(what string, err error, code string) {
	c.T.Helper()
	e, ok := errors.AsType[smithy.APIError](err)
	if !ok || e.ErrorCode() != code {
		c.T.Errorf("%s: %v, want %s", what, err, code)
	}
}

// Query runs a query over the hour around now and returns all of its results, in pages of a size.
func (c Client) Query(in *cloudwatchlogs.StartQueryInput, page int32) (results []string,
	last *cloudwatchlogs.GetQueryResultsOutput) {
	c.T.Helper()
	if in.StartTime == nil {
		in.StartTime, in.EndTime = aws.Int64(time.Now().Add(-time.Hour).Unix()), aws.Int64(time.Now().Add(time.Hour).Unix())
	}
	started := modeltest.Must(c.T, c.StartQuery, in)
	ask := &cloudwatchlogs.GetQueryResultsInput{QueryId: started.QueryId, MaxItems: &page}
	for {
		last = modeltest.Must(c.T, c.GetQueryResults, ask)
		if last.Status == types.QueryStatusScheduled || last.Status == types.QueryStatusRunning {
			runtime.Gosched()
			continue
		}
		for _, row := range last.Results {
			var fields []string
			for _, f := range row {
				if *f.Field != "@ptr" {
					fields = append(fields, *f.Value)
				}
			}
			results = append(results, strings.Join(fields, " "))
		}
		if ask.NextToken = last.NextToken; ask.NextToken == nil {
			return results, last
		}
	}
}

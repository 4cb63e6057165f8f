package rpc

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/wire"
)

// newLogs returns the SDK's client of CloudWatch Logs. Logs of jobs are more than evidence, so
// the client has the retries of the configuration and returns the SDK's errors.
func newLogs(cfg aws.Config) *cloudwatchlogs.Client {
	return cloudwatchlogs.NewFromConfig(cfg, func(o *cloudwatchlogs.Options) {
		o.APIOptions = append(slices.Clip(o.APIOptions), Within(patience), WholeRequest, readPages)
	})
}

// logCalls are the calls of one client of CloudWatch Logs. They are functions because the
// linker keeps all methods of a client that a field has: 3.4 MB.
type logCalls struct {
	events func(context.Context, *cloudwatchlogs.GetLogEventsInput,
		...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.GetLogEventsOutput, error)
	groups func(context.Context, *cloudwatchlogs.DescribeLogGroupsInput,
		...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.DescribeLogGroupsOutput, error)
}

// logCallsOf returns the calls of a new client.
func logCallsOf(cfg aws.Config) logCalls {
	c := newLogs(cfg)
	return logCalls{c.GetLogEvents, c.DescribeLogGroups}
}

// GetLogEvents reads a page of a log stream.
func (c *Client) GetLogEvents(ctx context.Context,
	in *cloudwatchlogs.GetLogEventsInput) (*cloudwatchlogs.GetLogEventsOutput, error) {
	return c.logs.events(ctx, in)
}

// DescribeLogGroups reads a page of the log groups of the account.
func (c *Client) DescribeLogGroups(ctx context.Context,
	in *cloudwatchlogs.DescribeLogGroupsInput) (*cloudwatchlogs.DescribeLogGroupsOutput, error) {
	return c.logs.groups(ctx, in)
}

// DeleteLogStream deletes a stream with its events. A stream that does not exist is no error.
func (c *Client) DeleteLogStream(ctx context.Context, group, stream string) error {
	_, err := Again(ctx, cloudwatchlogs.NewFromConfig(c.inRegion()).DeleteLogStream,
		&cloudwatchlogs.DeleteLogStreamInput{LogGroupName: &group, LogStreamName: &stream})
	if Missing(err) {
		return nil
	}
	return err
}

// readPages lets package wire decode pages of logs, which takes half of the SDK's time and a
// third of its memory, and reads 1.0 as a whole number. The SDK decodes the errors.
func readPages(stack *middleware.Stack) error {
	const id = "OperationDeserializer"
	sdk, ok := stack.Deserialize.Get(id)
	if !ok || stack.ID() != "GetLogEvents" {
		return nil
	}
	_, err := stack.Deserialize.Swap(id, middleware.DeserializeMiddlewareFunc(id,
		func(ctx context.Context, in middleware.DeserializeInput,
			next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleDeserialize(ctx, in)
			answer, ok := out.RawResponse.(*smithyhttp.Response)
			if err != nil || !ok || answer.StatusCode/100 != 2 {
				given := func(context.Context,
					middleware.DeserializeInput) (middleware.DeserializeOutput, middleware.Metadata, error) {
					return out, metadata, err
				}
				return sdk.HandleDeserialize(ctx, in, middleware.DeserializeHandlerFunc(given))
			}
			var page wire.GetLogEventsOutput
			text, err := readBody(answer.Response)
			if err == nil {
				err = page.Decode(text)
			}
			if err != nil {
				return out, metadata, &smithy.DeserializationError{Err: err}
			}
			out.Result = logEvents(page)
			return out, metadata, nil
		}))
	return err
}

// logEvents converts a page of package wire to the SDK's type.
func logEvents(page wire.GetLogEventsOutput) *cloudwatchlogs.GetLogEventsOutput {
	out := &cloudwatchlogs.GetLogEventsOutput{Events: make([]types.OutputLogEvent, len(page.Events)),
		NextForwardToken: page.NextForwardToken, NextBackwardToken: page.NextBackwardToken}
	for i, e := range page.Events {
		out.Events[i] = types.OutputLogEvent{Message: e.Message, Timestamp: e.Timestamp, IngestionTime: e.IngestionTime}
	}
	return out
}

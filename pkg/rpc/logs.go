package rpc

import (
	"context"

	"github.com/batchctl/batchctl/pkg/wire"
)

// GetLogEvents reads a page of a log stream.
func (c *Client) GetLogEvents(ctx context.Context, in *wire.GetLogEventsInput) (*wire.GetLogEventsOutput, error) {
	out := new(wire.GetLogEventsOutput)
	return out, c.patiently(ctx, Logs, "GetLogEvents", in, out)
}

// DescribeLogGroups reads a page of the log groups that there are.
func (c *Client) DescribeLogGroups(ctx context.Context, in *wire.DescribeLogGroupsInput) (*wire.DescribeLogGroupsOutput, error) {
	out := new(wire.DescribeLogGroupsOutput)
	return out, c.patiently(ctx, Logs, "DescribeLogGroups", in, out)
}

// DeleteLogStream deletes a stream with its events; that it is gone is no error.
func (c *Client) DeleteLogStream(ctx context.Context, group, stream string) error {
	err := c.JSON(ctx, Logs, "DeleteLogStream", map[string]string{"logGroupName": group, "logStreamName": stream}, &struct{}{})
	if Missing(err) {
		return nil
	}
	return err
}

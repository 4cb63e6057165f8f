package client

import (
	"context"
	"errors"
)

// StreamReader reads a stream of CloudWatch Logs piece by piece, as Logs reads those of
// a job: for what is no job of AWS Batch.
type StreamReader struct {
	tail   *tail
	stream stream
}

// StreamReader returns a reader of a stream. Lines name owner as the job that wrote
// them. Of the options Tail and Since hold.
func (c *Client) StreamReader(owner, group, name string, o LogOptions) *StreamReader {
	return &StreamReader{newTail(c, owner, o), stream{owner, group, name}}
}

// Read hands on what came since the last Read, until emit returns false; fresh says that
// there was something. A stream that is not there yet is empty.
func (r *StreamReader) Read(ctx context.Context, emit func(Line) bool) (fresh bool, err error) {
	fresh, err = r.tail.drain(ctx, r.stream, emit)
	if errors.Is(err, errStopped) {
		err = nil
	}
	return fresh, err
}

package client

import (
	"context"
	"errors"
)

// StreamReader reads a stream of CloudWatch Logs step by step, as Logs does for a job. It is for
// streams that do not belong to a job of AWS Batch.
type StreamReader struct {
	tail   *tail
	stream stream
}

// StreamReader returns a reader of a stream. Its lines have owner as their job. Of the options it
// uses Tail and Since.
func (l *JobLogs) StreamReader(owner, group, name string, o LogOptions) *StreamReader {
	return &StreamReader{newTail(l, owner, o), stream{owner, group, name}}
}

// Read passes the lines since the last Read to emit, until emit returns false. fresh reports
// whether there were any. A stream that does not exist yet is empty.
func (r *StreamReader) Read(ctx context.Context, emit func(Line) bool) (fresh bool, err error) {
	fresh, err = r.tail.drain(ctx, r.stream, nil, emit)
	if errors.Is(err, errStopped) {
		err = nil
	}
	return fresh, err
}

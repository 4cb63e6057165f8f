package logsapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/wire"
)

// getLogEvents reads a stream as CloudWatch does. Tokens are positions in the stream: f/ continues
// forward, b/ backward. If there is nothing more, it returns the same token. Events that clients put are
// paged in the order in which they were put, so that a client that follows the stream gets each event
// once. A page is sorted by time.
func (es events) getLogEvents(_ *call.Call, in *wire.GetLogEventsInput) (*wire.GetLogEventsOutput, error) {
	if in.Limit != nil && (*in.Limit < 1 || *in.Limit > maxEvents) {
		return nil, call.Invalid("limit must be between 1 and %d.", maxEvents)
	}
	log, err := es.openStream(groupName(in.LogGroupName, in.LogGroupIdentifier), aws.ToString(in.LogStreamName))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	forward, at, err := readPosition(log, in)
	if err != nil {
		return nil, err
	}
	limit := maxEvents
	if in.Limit != nil {
		limit = int(*in.Limit)
	}
	var lines []logs.Line
	from, to := at, at
	if forward {
		lines, to, err = log.Forward(at, limit)
	} else {
		lines, from, err = log.Backward(at, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	out := &wire.GetLogEventsOutput{Events: []wire.OutputLogEvent{},
		NextForwardToken: aws.String(fmt.Sprintf("f/%d", to)), NextBackwardToken: aws.String(fmt.Sprintf("b/%d", from))}
	for _, l := range lines {
		ms := log.Time(l.End)
		if in.StartTime != nil && ms < *in.StartTime || in.EndTime != nil && ms >= *in.EndTime {
			continue
		}
		// JSON has only text; a program may print any bytes.
		text := strings.ToValidUTF8(string(l.Text), "\uFFFD")
		ingested := log.Ingested(l.End)
		out.Events = append(out.Events, wire.OutputLogEvent{Message: &text, Timestamp: &ms, IngestionTime: &ingested})
	}
	if log.IsPut() {
		slices.SortStableFunc(out.Events, func(a, b wire.OutputLogEvent) int {
			return cmp.Compare(*a.Timestamp, *b.Timestamp)
		})
	}
	return out, nil
}

// readPosition returns where to read and in which direction. Without a token it starts at the
// first or last event in the request's time range: the limit counts only those events.
func readPosition(s *logs.Stream, in *wire.GetLogEventsInput) (forward bool, at int64, err error) {
	switch {
	case in.NextToken != nil:
		direction, number, _ := strings.Cut(*in.NextToken, "/")
		at, err = strconv.ParseInt(number, 10, 64)
		if err != nil || at < 0 || direction != "f" && direction != "b" {
			return false, 0, errToken
		}
		return direction == "f", min(at, s.End), nil
	case aws.ToBool(in.StartFromHead):
		at, err = s.FirstSince(aws.ToInt64(in.StartTime))
		return true, at, err
	case in.EndTime != nil:
		at, err = s.Until(*in.EndTime)
		return false, at, err
	}
	return false, s.End, nil
}

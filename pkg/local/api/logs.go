package api

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/stable"
	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// maxEvents is CloudWatch's limit on the events of one answer.
	maxEvents = 10000
)

// getLogEvents reads a stream as CloudWatch does. Tokens are positions in the stream: f/ continues
// forward, b/ backward. If there is nothing more, it returns the same token. Events that clients put are
// paged in the order in which they were put, so that a client that follows the stream gets each event
// once. A page is sorted by time.
func (a *API) getLogEvents(_ *call.Call, in *wire.GetLogEventsInput) (*wire.GetLogEventsOutput, error) {
	if in.Limit != nil && (*in.Limit < 1 || *in.Limit > maxEvents) {
		return nil, call.Invalid("limit must be between 1 and %d.", maxEvents)
	}
	log, err := a.openStream(groupName(in.LogGroupName, in.LogGroupIdentifier), aws.ToString(in.LogStreamName))
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
		stable.Sort(out.Events, func(a, b wire.OutputLogEvent) int { return cmp.Compare(*a.Timestamp, *b.Timestamp) })
	}
	return out, nil
}

// The errors of CloudWatch Logs for an unknown group and an unknown stream. Clients distinguish
// them by their messages.
var errNoGroup = &wire.Fault{Type: "ResourceNotFoundException", Message: "The specified log group does not exist."}

var errNoStream = &wire.Fault{Type: "ResourceNotFoundException", Message: "The specified log stream does not exist."}

var errLogToken = call.Invalid("The specified nextToken is invalid.")

// openStream opens a stream by its group and name.
func (a *API) openStream(group, name string) (*logs.Stream, error) {
	m, done := a.backend.View()
	exists := m.LogGroups[group] != nil
	s, stopped := m.FindStream(group, name)
	done()
	switch {
	case !exists:
		return nil, errNoGroup
	case s == nil:
		return nil, errNoStream
	}
	if s.Task == nil {
		return a.Logs.OpenPut(s.File)
	}
	log, err := a.Logs.Open(s.File, stopped)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoStream
	}
	return log, err
}

// readPosition returns where to read and in which direction. Without a token it starts at the
// first or last event in the request's time range: the limit counts only those events.
func readPosition(s *logs.Stream, in *wire.GetLogEventsInput) (forward bool, at int64, err error) {
	switch {
	case in.NextToken != nil:
		direction, number, _ := strings.Cut(*in.NextToken, "/")
		at, err = strconv.ParseInt(number, 10, 64)
		if err != nil || at < 0 || direction != "f" && direction != "b" {
			return false, 0, errLogToken
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

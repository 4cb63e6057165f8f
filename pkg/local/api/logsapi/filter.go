package logsapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// maxStreamsNamed is the most names in a FilterLogEvents (CloudWatch Logs API reference).
	maxStreamsNamed = 100
	// maxStreamsScanned is the engine's own limit on the work for one page of FilterLogEvents, in streams. The next
	// token continues there.
	maxStreamsScanned = 500
)

// filterLogEvents searches the streams one after the other in the order of their starts; the events
// of one answer are sorted by time. A page reads a limited part of the logs, so it may be empty and
// still have a token, as in CloudWatch.
func (es events) filterLogEvents(_ *call.Call, in *wire.FilterLogEventsInput) (*wire.FilterLogEventsOutput, error) {
	limit := cmp.Or(aws.ToInt32(in.Limit), maxEvents)
	switch {
	case limit < 1 || limit > maxEvents:
		return nil, call.Invalid("limit must be between 1 and %d.", maxEvents)
	case len(in.LogStreamNames) > 0 && in.LogStreamNamePrefix != nil:
		return nil, call.Invalid("Only one of logStreamNames and logStreamNamePrefix can be given.")
	case len(in.LogStreamNames) > maxStreamsNamed:
		return nil, call.Invalid("logStreamNames can have at most %d names.", maxStreamsNamed)
	}
	pattern, err := logs.ParsePattern(aws.ToString(in.FilterPattern))
	if err != nil {
		return nil, call.Invalid("filterPattern: %s.", err)
	}
	s := &search{in: in, group: groupName(in.LogGroupName, in.LogGroupIdentifier), pattern: pattern, limit: int(limit),
		events: []wire.FilteredLogEvent{}}
	if in.NextToken != nil {
		text, err := call.ReadToken(*in.NextToken)
		if err == nil {
			_, err = fmt.Sscanf(text, "%d/%d", &s.stream, &s.at)
		}
		if err != nil || s.stream < 0 || s.at < 0 {
			return nil, errToken
		}
	}
	more, err := es.search(s)
	if err != nil {
		return nil, err
	}
	out := &wire.FilterLogEventsOutput{Events: s.events, SearchedLogStreams: []wire.SearchedLogStream{}}
	if more {
		out.NextToken = aws.String(call.NewToken(fmt.Sprintf("%d/%d", s.stream, s.at)))
	}
	// Streams are read one after the other, so their events are interleaved only here.
	slices.SortStableFunc(out.Events, func(a, b wire.FilteredLogEvent) int {
		return cmp.Compare(*a.Timestamp, *b.Timestamp)
	})
	return out, nil
}

// search is one page of FilterLogEvents: the filter, the position, and the results.
type search struct {
	// in is the request, whose names and times select the events.
	in      *wire.FilterLogEventsInput
	group   string
	pattern logs.Pattern
	limit   int
	// stream is the number of the current stream, in the order of starts.
	stream int
	// at is the position in that stream.
	at int64
	// scanned counts the bytes read for this page.
	scanned int64
	// bytes counts the text in events.
	bytes int
	// events are the matches so far, in the order of the streams.
	events []wire.FilteredLogEvent
}

// full reports whether no event can be added to the page.
func (s *search) full() bool { return len(s.events) >= s.limit || s.bytes >= logs.MaxEventsBytes }

// includes reports whether the request selects a stream.
func (s *search) includes(stream model.LogStream) bool {
	switch {
	case stream.Group != s.group:
		return false
	case len(s.in.LogStreamNames) > 0:
		return slices.Contains(s.in.LogStreamNames, stream.Name)
	}
	return strings.HasPrefix(stream.Name, aws.ToString(s.in.LogStreamNamePrefix))
}

// search reads streams until the page is full or everything is read. more reports whether
// something is left.
func (es events) search(s *search) (more bool, err error) {
	m, done := es.state.View()
	all, exists := m.LogStreams, m.LogGroups[s.group] != nil
	done()
	if !exists {
		return false, errNoGroup
	}
	for opened := 0; s.stream < len(all); s.stream, s.at = s.stream+1, 0 {
		if !s.includes(all[s.stream]) {
			continue
		}
		if opened++; opened > maxStreamsScanned {
			return true, nil
		}
		done, err := es.searchStream(s, all[s.stream].Name)
		if err != nil || !done {
			return true, err
		}
	}
	return false, nil
}

// searchStream reads one stream from s.at. done is false if the page became full before the end.
func (es events) searchStream(s *search, name string) (done bool, err error) {
	log, err := es.openStream(s.group, name)
	if errors.Is(err, errNoStream) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer log.Close()
	for {
		if s.full() || s.scanned >= maxScanned {
			return false, nil
		}
		lines, _, err := log.Forward(s.at, maxEvents)
		if err != nil {
			return false, fmt.Errorf("read log: %w", err)
		}
		if len(lines) == 0 {
			return true, nil
		}
		for _, l := range lines {
			if s.full() {
				return false, nil
			}
			s.scanned += int64(len(l.Text)) + 1
			s.take(name, l, log.Time(l.End), log.Ingested(l.End))
			s.at = l.End
		}
	}
}

// take adds a line to the page if it matches the time range and the pattern. Its id is unique:
// the stream and the offset.
func (s *search) take(stream string, l logs.Line, ms, ingested int64) {
	if s.in.StartTime != nil && ms < *s.in.StartTime || s.in.EndTime != nil && ms >= *s.in.EndTime ||
		!s.pattern.Matches(string(l.Text)) {
		return
	}
	text := strings.ToValidUTF8(string(l.Text), "\uFFFD")
	s.bytes += len(text)
	s.events = append(s.events, wire.FilteredLogEvent{Message: &text, Timestamp: &ms, IngestionTime: &ingested,
		LogStreamName: &stream,
		EventId:       aws.String(fmt.Sprintf("%s/%d", stream, l.Start))})
}

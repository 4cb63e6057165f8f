package api

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/stable"
	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// The largest pages of DescribeLogGroups and DescribeLogStreams, and the most names in a
	// FilterLogEvents (CloudWatch Logs API reference).
	maxGroups       = 50
	maxStreams      = 50
	maxStreamsNamed = 100
	// The engine's own limits on the work for one page of FilterLogEvents, in bytes and in
	// streams. The next token continues there.
	maxScanned        = 8 << 20
	maxStreamsScanned = 500
)

// streamIndex has all streams by group and name. It is kept between requests and updated when it is
// used.
type streamIndex struct {
	// sorted has one entry for each stream of the model's list.
	sorted []model.LogStream
	// deletions is the model's number of deletions when the index was built.
	deletions int
}

// byName orders streams by group and name.
func byName(a, b model.LogStream) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Name, b.Name))
}

// update merges new streams into the index and returns it. The model's list only grows, so its tail has
// the new ones. A deletion changes entries of the list, so the index is built again.
func (x *streamIndex) update(m *model.Model) []model.LogStream {
	all := m.LogStreams
	if x.deletions != m.LogDeletions {
		*x = streamIndex{deletions: m.LogDeletions}
	}
	if len(all) == len(x.sorted) {
		return x.sorted
	}
	fresh := slices.Clone(all[len(x.sorted):])
	stable.Sort(fresh, byName)
	old, both := x.sorted, make([]model.LogStream, 0, len(all))
	for len(old) > 0 && len(fresh) > 0 {
		if byName(old[0], fresh[0]) < 0 {
			both, old = append(both, old[0]), old[1:]
		} else {
			both, fresh = append(both, fresh[0]), fresh[1:]
		}
	}
	x.sorted = append(append(both, old...), fresh...)
	return x.sorted
}

// describeLogGroups returns a page of the groups that match the request, by name.
func (a *API) describeLogGroups(_ *call.Call, in *wire.DescribeLogGroupsInput) (*wire.DescribeLogGroupsOutput, error) {
	limit := cmp.Or(aws.ToInt32(in.Limit), maxGroups)
	switch {
	case in.Limit != nil && (*in.Limit < 1 || *in.Limit > maxGroups):
		return nil, call.Invalid("limit must be between 1 and %d.", maxGroups)
	case in.LogGroupNamePrefix != nil && in.LogGroupNamePattern != nil:
		return nil, call.Invalid("Only one of logGroupNamePrefix and logGroupNamePattern can be given.")
	}
	m, done := a.backend.View()
	defer done()
	names := slices.DeleteFunc(call.SortedKeys(m.LogGroups), func(name string) bool {
		named := len(in.LogGroupIdentifiers) == 0 || slices.ContainsFunc(in.LogGroupIdentifiers, func(id string) bool { return groupName(nil, &id) == name })
		return !named || in.LogGroupClass != "" && in.LogGroupClass != groupClass(m.LogGroups[name]) || !strings.HasPrefix(name, aws.ToString(in.LogGroupNamePrefix)) || !strings.Contains(name, aws.ToString(in.LogGroupNamePattern))
	})
	page, next, err := call.Page(names, &limit, maxGroups, in.NextToken, func(name string) string { return name })
	if err != nil {
		return nil, errLogToken
	}
	out := &wire.DescribeLogGroupsOutput{LogGroups: []wire.LogGroup{}, NextToken: next}
	for _, name := range page {
		g := m.LogGroups[name]
		d := wire.LogGroup{LogGroupName: &name, Arn: aws.String(groupARN(name) + ":*"), LogGroupArn: aws.String(groupARN(name)), CreationTime: call.Moment(g.CreatedAt),
			LogGroupClass: groupClass(g), MetricFilterCount: aws.Int32(0), StoredBytes: aws.Int64(0)}
		if g.RetentionDays > 0 {
			d.RetentionInDays = aws.Int32(g.RetentionDays)
		}
		out.LogGroups = append(out.LogGroups, d)
	}
	return out, nil
}

// groupClass returns the class of a log group.
func groupClass(g *model.LogGroup) string { return cmp.Or(g.Class, standardClass) }

// groupARN returns the ARN of a log group.
func groupARN(name string) string {
	return "arn:aws:logs:" + model.Region + ":" + model.Account + ":log-group:" + name
}

// groupName returns the log group that a request names, by name or by ARN.
func groupName(name, identifier *string) string {
	if aws.ToString(name) != "" {
		return *name
	}
	if _, group, ok := strings.Cut(aws.ToString(identifier), ":log-group:"); ok {
		return strings.TrimSuffix(group, ":*")
	}
	return aws.ToString(identifier)
}

// describeLogStreams returns a page of streams by name, or by the time of their last event. As in
// CloudWatch, a prefix cannot be combined with the order by time.
func (a *API) describeLogStreams(_ *call.Call, in *wire.DescribeLogStreamsInput) (*wire.DescribeLogStreamsOutput, error) {
	byTime := in.OrderBy == wire.OrderByLastEventTime
	limit := cmp.Or(aws.ToInt32(in.Limit), maxStreams)
	switch {
	case limit < 1 || limit > maxStreams:
		return nil, call.Invalid("limit must be between 1 and %d.", maxStreams)
	case in.OrderBy != "" && !slices.Contains(in.OrderBy.Values(), in.OrderBy):
		return nil, call.Invalid("orderBy %s is not valid. Valid orders: %v", in.OrderBy, in.OrderBy.Values())
	case byTime && in.LogStreamNamePrefix != nil:
		return nil, call.Invalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
	}
	group := groupName(in.LogGroupName, in.LogGroupIdentifier)
	page, next, err := a.pageOfStreams(group, aws.ToString(in.LogStreamNamePrefix), byTime, aws.ToBool(in.Descending), int(limit), in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &wire.DescribeLogStreamsOutput{LogStreams: []wire.LogStream{}, NextToken: next}
	for _, s := range page {
		d, err := a.describeStream(s)
		if err != nil {
			return nil, err
		}
		out.LogStreams = append(out.LogStreams, d)
	}
	return out, nil
}

// pageOfStreams returns one page of the streams of a group whose names begin with prefix. The token
// is the name of the last stream of the page before.
func (a *API) pageOfStreams(group, prefix string, byTime, descending bool, limit int, token *string) ([]model.LogStream, *string, error) {
	m, done := a.backend.View()
	defer done()
	if m.LogGroups[group] == nil {
		return nil, nil, errNoGroup
	}
	all := withPrefix(a.streams.update(m), group, prefix)
	after := ""
	if token != nil {
		var err error
		if after, err = call.ReadToken(*token); err != nil {
			return nil, nil, errLogToken
		}
	}
	if byTime {
		now := time.Now().UnixMilli()
		last := map[string]int64{}
		for _, s := range all {
			last[s.Name] = a.lastEvent(s, now)
		}
		all = slices.SortedStableFunc(slices.Values(all), func(a, b model.LogStream) int { return cmp.Compare(last[a.Name], last[b.Name]) })
	}
	// step returns element i in the requested direction.
	at := 0
	step := func(i int) model.LogStream {
		if descending {
			return all[len(all)-1-i]
		}
		return all[i]
	}
	// The order by time changes while jobs run, so the search for the token is linear.
	for token != nil && at < len(all) && step(at).Name != after {
		at++
	}
	if token != nil {
		at++
	}
	var page []model.LogStream
	for ; at < len(all); at++ {
		if len(page) == limit {
			return page, aws.String(call.NewToken(page[limit-1].Name)), nil
		}
		page = append(page, step(at))
	}
	return page, nil, nil
}

// withPrefix returns the part of the sorted streams that are in a group and whose names begin with
// prefix.
func withPrefix(all []model.LogStream, group, prefix string) []model.LogStream {
	from, _ := slices.BinarySearchFunc(all, model.LogStream{Group: group, Name: prefix}, byName)
	to := from
	for to < len(all) && all[to].Group == group && strings.HasPrefix(all[to].Name, prefix) {
		to++
	}
	return all[from:to]
}

// lastEvent returns when the last event of a stream can have been written, in epoch milliseconds:
// at the end of its attempt, or now. A stream of CreateLogStream has the time of its last event, or of
// its creation.
func (a *API) lastEvent(r model.LogStream, now int64) int64 {
	if r.Task == nil {
		if log, err := a.Logs.OpenPut(r.File); err == nil {
			defer log.Close()
			if _, last, _, ok, _ := log.Range(); ok {
				return last
			}
		}
		return r.CreatedAt
	}
	return cmp.Or(r.Task.Attempts[r.Attempt].StoppedAt, now)
}

// describeStream returns a stream with the times of its first and last event, which it reads from
// the log.
func (a *API) describeStream(s model.LogStream) (wire.LogStream, error) {
	// The model may change meanwhile, so the time is read within a view and the file outside.
	created := s.CreatedAt
	if s.Task != nil {
		_, done := a.backend.View()
		created = s.Task.Attempts[s.Attempt].StartedAt
		done()
	}
	d := wire.LogStream{LogStreamName: aws.String(s.Name), Arn: aws.String(groupARN(s.Group) + ":log-stream:" + s.Name),
		CreationTime: call.Moment(created)}
	log, err := a.openStream(s.Group, s.Name)
	if errors.Is(err, errNoStream) {
		return d, nil // the attempt ended before it had a log
	}
	if err != nil {
		return d, err
	}
	defer log.Close()
	first, last, ingested, ok, err := log.Range()
	if err != nil {
		return d, fmt.Errorf("read log: %w", err)
	}
	if ok {
		d.FirstEventTimestamp, d.LastEventTimestamp, d.LastIngestionTime = &first, &last, &ingested
	}
	return d, nil
}

// filterLogEvents searches the streams one after the other in the order of their starts; the events
// of one answer are sorted by time. A page reads a limited part of the logs, so it may be empty and
// still have a token, as in CloudWatch.
func (a *API) filterLogEvents(_ *call.Call, in *wire.FilterLogEventsInput) (*wire.FilterLogEventsOutput, error) {
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
	s := &search{in: in, group: groupName(in.LogGroupName, in.LogGroupIdentifier), pattern: pattern, limit: int(limit), events: []wire.FilteredLogEvent{}}
	if in.NextToken != nil {
		text, err := call.ReadToken(*in.NextToken)
		if err == nil {
			_, err = fmt.Sscanf(text, "%d/%d", &s.stream, &s.at)
		}
		if err != nil || s.stream < 0 || s.at < 0 {
			return nil, errLogToken
		}
	}
	more, err := a.search(s)
	if err != nil {
		return nil, err
	}
	out := &wire.FilterLogEventsOutput{Events: s.events, SearchedLogStreams: []wire.SearchedLogStream{}}
	if more {
		out.NextToken = aws.String(call.NewToken(fmt.Sprintf("%d/%d", s.stream, s.at)))
	}
	// Streams are read one after the other, so their events are interleaved only here.
	stable.Sort(out.Events, func(a, b wire.FilteredLogEvent) int { return cmp.Compare(*a.Timestamp, *b.Timestamp) })
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
func (a *API) search(s *search) (more bool, err error) {
	m, done := a.backend.View()
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
		done, err := a.searchStream(s, all[s.stream].Name)
		if err != nil || !done {
			return true, err
		}
	}
	return false, nil
}

// searchStream reads one stream from s.at. done is false if the page became full before the end.
func (a *API) searchStream(s *search, name string) (done bool, err error) {
	log, err := a.openStream(s.group, name)
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
	if s.in.StartTime != nil && ms < *s.in.StartTime || s.in.EndTime != nil && ms >= *s.in.EndTime || !s.pattern.Matches(string(l.Text)) {
		return
	}
	text := strings.ToValidUTF8(string(l.Text), "\uFFFD")
	s.bytes += len(text)
	s.events = append(s.events, wire.FilteredLogEvent{Message: &text, Timestamp: &ms, IngestionTime: &ingested, LogStreamName: &stream,
		EventId: aws.String(fmt.Sprintf("%s/%d", stream, l.Start))})
}

package logsapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// maxStreams is the largest page of DescribeLogStreams (CloudWatch Logs API reference).
const maxStreams = 50

// streams has the operations on log streams.
type streams struct {
	*service
	// index has the streams by name. The lock that View holds protects it.
	index streamIndex
}

// createLogStream records a log stream in a group that exists.
func (ss *streams) createLogStream(_ *call.Call, in *wire.CreateLogStreamInput) (*wire.EmptyLogsOutput, error) {
	for _, err := range []error{checkGroupName(in.LogGroupName), checkStreamName(in.LogStreamName)} {
		if err != nil {
			return nil, err
		}
	}
	err := ss.state.Change(func(m *model.Model) ([]model.Event, error) {
		if m.LogGroups[*in.LogGroupName] == nil {
			return nil, errNoGroup
		}
		if s, _ := m.FindStream(*in.LogGroupName, *in.LogStreamName); s != nil {
			return nil, errStreamExists
		}
		return []model.Event{{LogStreamCreated: &model.LogStreamCreation{Group: *in.LogGroupName,
			Stream: *in.LogStreamName, File: call.NewID()}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &wire.EmptyLogsOutput{}, nil
}

// deleteLogStream removes a stream of CreateLogStream with its events. It rejects the stream of an attempt, also after
// the attempt has ended, for the reasons of deleteLogGroup.
func (ss *streams) deleteLogStream(_ *call.Call, in *wire.DeleteLogStreamInput) (*wire.EmptyLogsOutput, error) {
	for _, err := range []error{checkGroupName(in.LogGroupName), checkStreamName(in.LogStreamName)} {
		if err != nil {
			return nil, err
		}
	}
	file := ""
	err := ss.state.Change(func(m *model.Model) ([]model.Event, error) {
		if m.LogGroups[*in.LogGroupName] == nil {
			return nil, errNoGroup
		}
		s, _ := m.FindStream(*in.LogGroupName, *in.LogStreamName)
		switch {
		case s == nil:
			return nil, errNoStream
		case s.Task != nil:
			return nil, call.Invalid("The log stream %s cannot be deleted: it is the log of a job. The local engine removes it with the job.", *in.LogStreamName)
		}
		file = s.File
		return []model.Event{{LogStreamDeleted: &model.LogStreamDeletion{Group: *in.LogGroupName,
			Stream: *in.LogStreamName}}}, nil
	})
	if err != nil {
		return nil, err
	}
	// The stream is deleted. A file that is left has a name that is never used again.
	_ = ss.store.RemovePut(file)
	return &wire.EmptyLogsOutput{}, nil
}

// describeLogStreams returns a page of streams by name, or by the time of their last event. As in
// CloudWatch, a prefix cannot be combined with the order by time.
func (ss *streams) describeLogStreams(_ *call.Call,
	in *wire.DescribeLogStreamsInput) (*wire.DescribeLogStreamsOutput, error) {
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
	page, next, err := ss.pageOfStreams(group, aws.ToString(in.LogStreamNamePrefix), byTime, aws.ToBool(in.Descending),
		int(limit), in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &wire.DescribeLogStreamsOutput{LogStreams: []wire.LogStream{}, NextToken: next}
	for _, s := range page {
		d, err := ss.describeStream(s)
		if err != nil {
			return nil, err
		}
		out.LogStreams = append(out.LogStreams, d)
	}
	return out, nil
}

// pageOfStreams returns one page of the streams of a group whose names begin with prefix. The token
// is the name of the last stream of the page before.
func (ss *streams) pageOfStreams(group, prefix string, byTime, descending bool, limit int,
	token *string) ([]model.LogStream, *string, error) {
	m, done := ss.state.View()
	defer done()
	if m.LogGroups[group] == nil {
		return nil, nil, errNoGroup
	}
	all := withPrefix(ss.index.update(m), group, prefix)
	after := ""
	if token != nil {
		var err error
		if after, err = call.ReadToken(*token); err != nil {
			return nil, nil, errToken
		}
	}
	if byTime {
		now := time.Now().UnixMilli()
		last := map[string]int64{}
		for _, s := range all {
			last[s.Name] = ss.lastEvent(s, now)
		}
		all = slices.SortedStableFunc(slices.Values(all),
			func(a, b model.LogStream) int { return cmp.Compare(last[a.Name], last[b.Name]) })
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
func (ss *streams) lastEvent(r model.LogStream, now int64) int64 {
	if r.Task == nil {
		if log, err := ss.store.OpenPut(r.File); err == nil {
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
func (ss *streams) describeStream(s model.LogStream) (wire.LogStream, error) {
	// The model may change meanwhile, so the time is read within a view and the file outside.
	created := s.CreatedAt
	if s.Task != nil {
		_, done := ss.state.View()
		a := &s.Task.Attempts[s.Attempt]
		created = cmp.Or(a.StartedAt, a.CreatedAt) // an attempt that failed to start has a stream too
		done()
	}
	d := wire.LogStream{LogStreamName: aws.String(s.Name), Arn: aws.String(groupARN(s.Group) + ":log-stream:" + s.Name),
		CreationTime: call.Moment(created), StoredBytes: aws.Int64(0)} // CloudWatch always reports 0 for a stream
	log, err := ss.openStream(s.Group, s.Name)
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

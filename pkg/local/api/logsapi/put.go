package logsapi

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// The limits of PutLogEvents (CloudWatch Logs API reference). The size of a batch is that of its
	// messages, with eventOverhead bytes more for each.
	maxPutEvents  = 10000
	maxPutBytes   = 1048576
	eventOverhead = 26
	maxEventAge   = 14 * 24 * time.Hour
	maxEventAhead = 2 * time.Hour
	maxBatchSpan  = 24 * time.Hour
)

// putLogEvents appends events to a stream of CreateLogStream, and returns when they are on disk. As in
// CloudWatch, the sequence token is ignored, and events that are too old or too new are left out.
func (es events) putLogEvents(_ *call.Call, in *wire.PutLogEventsInput) (*wire.PutLogEventsOutput, error) {
	for _, err := range []error{checkGroupName(in.LogGroupName), checkStreamName(in.LogStreamName),
		checkEvents(in.LogEvents)} {
		if err != nil {
			return nil, err
		}
	}
	file, days := "", int32(0)
	// Change, because a read-only engine must not write, and the creation of the stream must be on disk
	// before its events.
	err := es.state.Change(func(m *model.Model) ([]model.Event, error) {
		g := m.LogGroups[*in.LogGroupName]
		if g == nil {
			return nil, errNoGroup
		}
		s, _ := m.FindStream(*in.LogGroupName, *in.LogStreamName)
		switch {
		case s == nil:
			return nil, errNoStream
		case s.Task != nil:
			// The command of the attempt writes to the file, so nothing else can.
			return nil, call.Invalid("The log stream %s has the output of a job. Create another one for your events.",
				*in.LogStreamName)
		}
		file, days = s.File, g.RetentionDays
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	accepted, rejected := acceptedEvents(in.LogEvents, now, days)
	out := &wire.PutLogEventsOutput{RejectedLogEventsInfo: rejected}
	if n := len(accepted); n > 0 && *accepted[n-1].Timestamp-*accepted[0].Timestamp > maxBatchSpan.Milliseconds() {
		return nil, call.Invalid("The batch of log events in a single PutLogEvents request cannot span more than 24 hours.")
	}
	events := make([]logs.Event, len(accepted))
	for i, e := range accepted {
		events[i] = logs.Event{Time: *e.Timestamp, Ingested: now.UnixMilli(), Message: *e.Message}
	}
	count, err := es.store.Put(file, events)
	if errors.Is(err, logs.ErrFull) { // CloudWatch has no such limit, so it has no error for it
		return nil, call.Invalid("The log stream %s has reached the local engine's limit of %s (batchctl serve --log-limit). Create another one.",
			*in.LogStreamName, text.ExactSize(es.store.Limit()))
	}
	if err != nil {
		return nil, err
	}
	out.NextSequenceToken = aws.String(strconv.Itoa(count)) // older clients send it with the next batch
	return out, nil
}

// checkEvents rejects a batch that CloudWatch rejects as a whole.
func checkEvents(events []wire.InputLogEvent) error {
	if len(events) == 0 || len(events) > maxPutEvents {
		return call.Invalid("logEvents must have 1 to %d events.", maxPutEvents)
	}
	size := 0
	for i, e := range events {
		switch {
		case e.Message == nil || *e.Message == "":
			return call.Invalid("logEvents[%d].message must have at least 1 character.", i)
		case e.Timestamp == nil || *e.Timestamp < 0:
			return call.Invalid("logEvents[%d].timestamp must be at least 0.", i)
		case i > 0 && *e.Timestamp < *events[i-1].Timestamp:
			return call.Invalid("Log events in a single PutLogEvents request must be in chronological order.")
		}
		size += len(*e.Message) + eventOverhead
	}
	if size > maxPutBytes {
		return call.Invalid("Upload too large: %d bytes exceeds limit of %d", size, maxPutBytes)
	}
	return nil
}

// acceptedEvents returns the part of a batch that is neither too old nor too new, and what it leaves out;
// nil for nothing. days is the retention of the group; 0: none. The batch is in chronological order.
func acceptedEvents(events []wire.InputLogEvent, now time.Time,
	days int32) ([]wire.InputLogEvent, *wire.RejectedLogEventsInfo) {
	// firstSince returns the index of the first event at or after a time.
	firstSince := func(at time.Time) int {
		i, _ := slices.BinarySearchFunc(events, at.UnixMilli(), func(e wire.InputLogEvent,
			ms int64) int {
			return int(min(max(*e.Timestamp-ms, -1), 1))
		})
		return i
	}
	from, to := firstSince(now.Add(-maxEventAge)), firstSince(now.Add(maxEventAhead+time.Millisecond))
	rejected := &wire.RejectedLogEventsInfo{}
	if from > 0 {
		rejected.TooOldLogEventEndIndex = aws.Int32(int32(from))
	}
	if to < len(events) {
		rejected.TooNewLogEventStartIndex = aws.Int32(int32(to))
	}
	if days > 0 {
		if expired := firstSince(now.Add(-time.Duration(days) * 24 * time.Hour)); expired > 0 {
			rejected.ExpiredLogEventEndIndex = aws.Int32(int32(expired))
			from = max(from, expired)
		}
	}
	if *rejected == (wire.RejectedLogEventsInfo{}) {
		rejected = nil
	}
	return events[from:max(from, to)], rejected
}

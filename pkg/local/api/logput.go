package api

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
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
	// maxLogName is the maximum number of characters in the name of a group or stream.
	maxLogName = 512
	// standardClass is the class of a log group that names no other.
	standardClass = "STANDARD"
)

// logGroupPattern matches the name of a log group, whose length is checked separately.
var logGroupPattern = lazy(`^[._/#A-Za-z0-9-]+$`)

// groupClasses are the classes of log groups.
var groupClasses = []string{standardClass, "INFREQUENT_ACCESS", "DELIVERY"}

// retentions are the valid values of retentionInDays (API reference of PutRetentionPolicy).
var retentions = []int32{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}

// The errors of CloudWatch Logs for a group and a stream that exist.
var errGroupExists = &wire.Fault{Type: "ResourceAlreadyExistsException", Message: "The specified log group already exists"}

var errStreamExists = &wire.Fault{Type: "ResourceAlreadyExistsException", Message: "The specified log stream already exists"}

// checkGroupName rejects a text that cannot be the name of a log group.
func checkGroupName(name *string) error {
	switch {
	case name == nil:
		return call.Invalid("logGroupName is required.")
	case len(*name) > maxLogName || !logGroupPattern().MatchString(*name):
		return call.Invalid("logGroupName %q is not valid: it must have 1 to %d letters, digits, and characters of . - _ / #.", *name, maxLogName)
	}
	return nil
}

// checkStreamName rejects a text that cannot be the name of a log stream.
func checkStreamName(name *string) error {
	switch {
	case name == nil:
		return call.Invalid("logStreamName is required.")
	case utf8.RuneCountInString(*name) > maxLogName || strings.ContainsAny(*name, ":*"):
		return call.Invalid("logStreamName %q is not valid: it must have 1 to %d characters other than : and *.", *name, maxLogName)
	}
	return nil
}

// createLogGroup records a log group. A group that exists because a job logs to it cannot be created
// again.
func (a *API) createLogGroup(c *call.Call, in *wire.CreateLogGroupInput) (*wire.EmptyLogsOutput, error) {
	if err := checkGroupName(in.LogGroupName); err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(*in.LogGroupName, "aws/"):
		return nil, call.Invalid("logGroupName %q is not valid: it must not begin with aws/.", *in.LogGroupName)
	case in.LogGroupClass != "" && !slices.Contains(groupClasses, in.LogGroupClass):
		return nil, call.Invalid("logGroupClass %s is not valid. Valid classes: %v", in.LogGroupClass, groupClasses)
	}
	var unused []string
	if in.KmsKeyId != nil {
		unused = append(unused, "kmsKeyId")
	}
	if aws.ToBool(in.DeletionProtectionEnabled) {
		unused = append(unused, "deletionProtectionEnabled")
	}
	if err := checkLogTags(in.Tags); err != nil {
		return nil, err
	}
	err := a.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if m.LogGroups[*in.LogGroupName] != nil {
			return nil, errGroupExists
		}
		return []model.Event{{LogGroupCreated: &model.LogGroupCreation{Group: *in.LogGroupName, Class: in.LogGroupClass, Tags: in.Tags}}}, nil
	})
	if err != nil {
		return nil, err
	}
	c.Remark("log groups of the local engine do not have these", unused)
	return &wire.EmptyLogsOutput{}, nil
}

// createLogStream records a log stream in a group that exists.
func (a *API) createLogStream(_ *call.Call, in *wire.CreateLogStreamInput) (*wire.EmptyLogsOutput, error) {
	for _, err := range []error{checkGroupName(in.LogGroupName), checkStreamName(in.LogStreamName)} {
		if err != nil {
			return nil, err
		}
	}
	err := a.backend.Change(func(m *model.Model) ([]model.Event, error) {
		if m.LogGroups[*in.LogGroupName] == nil {
			return nil, errNoGroup
		}
		if s, _ := m.FindStream(*in.LogGroupName, *in.LogStreamName); s != nil {
			return nil, errStreamExists
		}
		return []model.Event{{LogStreamCreated: &model.LogStreamCreation{Group: *in.LogGroupName, Stream: *in.LogStreamName, File: call.NewID()}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &wire.EmptyLogsOutput{}, nil
}

// putLogEvents appends events to a stream of CreateLogStream, and returns when they are on disk. As in
// CloudWatch, the sequence token is ignored, and events that are too old or too new are left out.
func (a *API) putLogEvents(_ *call.Call, in *wire.PutLogEventsInput) (*wire.PutLogEventsOutput, error) {
	for _, err := range []error{checkGroupName(in.LogGroupName), checkStreamName(in.LogStreamName), checkEvents(in.LogEvents)} {
		if err != nil {
			return nil, err
		}
	}
	file, days := "", int32(0)
	// Change, because a read-only engine must not write, and the creation of the stream must be on disk
	// before its events.
	err := a.backend.Change(func(m *model.Model) ([]model.Event, error) {
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
			return nil, call.Invalid("The log stream %s has the output of a job. Create another one for your events.", *in.LogStreamName)
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
	count, err := a.Logs.Put(file, events)
	if errors.Is(err, logs.ErrFull) { // CloudWatch has no such limit, so it has no error for it
		return nil, call.Invalid("The log stream %s has reached the local engine's limit of %s (batchctl serve --log-limit). Create another one.",
			*in.LogStreamName, logs.SizeText(a.Logs.Limit()))
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
func acceptedEvents(events []wire.InputLogEvent, now time.Time, days int32) ([]wire.InputLogEvent, *wire.RejectedLogEventsInfo) {
	// firstSince returns the index of the first event at or after a time.
	firstSince := func(at time.Time) int {
		i, _ := slices.BinarySearchFunc(events, at.UnixMilli(), func(e wire.InputLogEvent, ms int64) int { return int(min(max(*e.Timestamp-ms, -1), 1)) })
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

// putRetentionPolicy records the retention of a group. See model.LogGroup: it deletes nothing.
func (a *API) putRetentionPolicy(_ *call.Call, in *wire.PutRetentionPolicyInput) (*wire.EmptyLogsOutput, error) {
	if err := checkGroupName(in.LogGroupName); err != nil {
		return nil, err
	}
	if in.RetentionInDays == nil || !slices.Contains(retentions, *in.RetentionInDays) {
		return nil, call.Invalid("retentionInDays must be one of %v.", retentions)
	}
	return a.setRetention(*in.LogGroupName, *in.RetentionInDays)
}

// deleteRetentionPolicy records that the events of a group do not expire.
func (a *API) deleteRetentionPolicy(_ *call.Call, in *wire.DeleteRetentionPolicyInput) (*wire.EmptyLogsOutput, error) {
	if err := checkGroupName(in.LogGroupName); err != nil {
		return nil, err
	}
	return a.setRetention(*in.LogGroupName, 0)
}

// setRetention records the retention of a group in days; 0: events do not expire.
func (a *API) setRetention(group string, days int32) (*wire.EmptyLogsOutput, error) {
	err := a.backend.Change(func(m *model.Model) ([]model.Event, error) {
		g := m.LogGroups[group]
		switch {
		case g == nil:
			return nil, errNoGroup
		case g.RetentionDays == days:
			return nil, nil
		}
		return []model.Event{{RetentionSet: &model.Retention{Group: group, Days: days}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &wire.EmptyLogsOutput{}, nil
}

package logsapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/insights"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// getLogRecord returns all fields of the event of a @ptr. Its times are epoch milliseconds.
func (es events) getLogRecord(_ *call.Call, in *wire.GetLogRecordInput) (*wire.GetLogRecordOutput, error) {
	unknown := call.Invalid("logRecordPointer %q is not the @ptr of a log event.", aws.ToString(in.LogRecordPointer))
	group, name, at, err := insights.ParsePointer(aws.ToString(in.LogRecordPointer))
	if err != nil {
		return nil, unknown
	}
	log, err := es.openStream(group, name)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	lines, _, err := log.Forward(at, 1)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	if len(lines) == 0 {
		return nil, unknown
	}
	message := strings.ToValidUTF8(string(lines[0].Text), "\uFFFD")
	record := map[string]string{}
	for _, f := range insights.Discovered(message) {
		record[f.Name] = f.Value
	}
	for name, value := range map[string]string{"@message": message, "@logStream": name,
		"@log": model.Account + ":" + group, "@ptr": *in.LogRecordPointer,
		"@timestamp":     strconv.FormatInt(log.Time(lines[0].End), 10),
		"@ingestionTime": strconv.FormatInt(log.Ingested(lines[0].End), 10)} {
		record[name] = value
	}
	return &wire.GetLogRecordOutput{LogRecord: record}, nil
}

// getLogGroupFields returns the fields of the events around a time, or of the last 15 minutes (API reference). It reads
// at most maxScanned bytes.
func (es events) getLogGroupFields(c *call.Call,
	in *wire.GetLogGroupFieldsInput) (*wire.GetLogGroupFieldsOutput, error) {
	if (in.LogGroupName == nil) == (in.LogGroupIdentifier == nil) {
		return nil, call.Invalid("Exactly one of logGroupName and logGroupIdentifier is required.")
	}
	group := groupName(in.LogGroupName, in.LogGroupIdentifier)
	m, done := es.state.View()
	exists := m.LogGroups[group] != nil
	done()
	if !exists {
		return nil, errNoGroup
	}
	to := time.Now().UnixMilli()
	from := to - 15*time.Minute.Milliseconds()
	if in.Time != nil {
		from, to = *in.Time*1000-8*time.Minute.Milliseconds(), *in.Time*1000+8*time.Minute.Milliseconds()
	}
	var events, bytes int64
	having := map[string]int64{}
	err := es.scan(c.Request.Context(), scan{groups: []string{group}, from: from, to: to,
		each: func(e *insights.Event) error {
			for _, f := range insights.Discovered(e.Message) {
				having[f.Name]++
			}
			return nil
		}, page: func(n, size int64) bool {
			events, bytes = events+n, bytes+size
			return bytes < maxScanned
		}})
	if err != nil {
		return nil, err
	}
	out := &wire.GetLogGroupFieldsOutput{LogGroupFields: []wire.LogGroupField{}}
	if events > 0 {
		for _, name := range []string{"@timestamp", "@message", "@logStream", "@log", "@ingestionTime"} {
			having[name] = events
		}
	}
	for _, name := range call.SortedKeys(having) {
		out.LogGroupFields = append(out.LogGroupFields, wire.LogGroupField{Name: &name,
			Percent: aws.Int32(int32(min(having[name]*100/events, 100)))})
	}
	return out, nil
}

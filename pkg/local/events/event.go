package events

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/batchapi"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Types of events. The first two are AWS Batch's (EventBridge's reference of events, "AWS Batch"). The third is
// batchctl's own.
const (
	StateChange  = "Batch Job State Change"
	QueueBlocked = "Batch Job Queue Blocked"
	Lost         = "batchctl Events Lost"
)

// event is an event in EventBridge's shape (EventBridge user guide, "AWS service event metadata").
type event struct {
	id, kind, source string
	resources        []string
	detail           []byte // JSON
}

// change is a change that an event reports.
type change struct {
	at   int64 // epoch milliseconds
	task *model.Task
	node int // -1: the job itself
	// blocked means that the task blocks its queue; otherwise it has a new status.
	blocked bool
}

// render returns the event of a change as a line of JSON. The model must be in the state of the change.
func (c change) render(m *model.Model) ([]byte, error) {
	t, id := c.task, c.task.IDOf(c.node)
	d := batchapi.Detail(m, t, c.node)
	if r := d.RetryStrategy; r != nil && r.EvaluateOnExit == nil { // AWS's events have the member in any case
		d.RetryStrategy = &types.RetryStrategy{Attempts: r.Attempts, EvaluateOnExit: []types.EvaluateOnExit{}}
	}
	detail, err := wire.Marshal(d)
	if err != nil {
		return nil, err
	}
	v := event{kind: StateChange, source: "aws.batch", resources: []string{model.ARN(model.KindJob, id)},
		detail: detail,
		id:     identify("status", id, strconv.Itoa(len(t.Attempts)), t.StateOf(c.node).String())}
	if c.blocked {
		v.kind = QueueBlocked
		v.resources = append(v.resources, model.ARN(model.KindQueue, *t.Job.Request.JobQueue))
		v.id = identify("blocked", id, strconv.Itoa(len(t.Attempts)), strconv.FormatInt(c.at, 10), t.Reason)
	}
	return v.line(c.at), nil
}

// line returns the event as a line of JSON.
func (v event) line(at int64) []byte {
	text := make([]byte, 0, len(v.detail)+512)
	member := func(name, value string) { text = wire.AppendString(append(text, name...), value) }
	member(`{"version":`, "0")
	member(`,"id":`, v.id)
	member(`,"detail-type":`, v.kind)
	member(`,"source":`, v.source)
	member(`,"account":`, model.Account)
	member(`,"time":`, time.UnixMilli(at).UTC().Format(time.RFC3339))
	member(`,"region":`, model.Region)
	separator := `,"resources":[`
	for _, arn := range v.resources {
		member(separator, arn)
		separator = ","
	}
	if len(v.resources) == 0 {
		text = append(text, separator...)
	}
	text = append(text, `],"detail":`...)
	text = append(text, v.detail...)
	return append(text, '}', '\n')
}

// lostEvent returns the event that reports lost events; count is unknown if it is negative.
func lostEvent(to Destination, s saved, at int64) ([]byte, error) {
	detail := map[string]any{"destination": to.String(),
		"reason": "the engine no longer has the events that follow the last delivered one"}
	if s.Lost > 0 {
		detail["lost"] = s.Lost
	}
	text, err := json.Marshal(detail)
	if err != nil {
		return nil, err
	}
	chain := binary.BigEndian.AppendUint32(nil, s.Chain)
	v := event{kind: Lost, source: "batchctl", detail: text,
		id: identify("lost", to.name, strconv.FormatInt(s.Lost, 10), strconv.FormatInt(s.Records, 10), string(chain))}
	return v.line(at), nil
}

// identify returns an id in the form of a UUID (RFC 9562, version 8) that only depends on the parts.
func identify(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	text := hex.EncodeToString(b)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

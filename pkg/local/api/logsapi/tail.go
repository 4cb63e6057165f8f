package logsapi

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// StartLiveTail is the name of the operation whose output is a call.Stream.
const StartLiveTail = "StartLiveTail"

const (
	// The limits of StartLiveTail (API reference and quotas of CloudWatch Logs): groups, names of streams or prefixes,
	// concurrent sessions, the time of a session, the time between two updates, and the events of an update.
	maxTailGroups   = 10
	maxTailStreams  = 100
	maxTails        = 15
	maxTailTime     = 3 * time.Hour
	tailEvery       = time.Second
	maxTailEvents   = 500
	maxTailMessages = maxTailEvents * 10 // that an update is sampled from
)

// tails has the operations on live tails.
type tails struct {
	*service
	// open counts the sessions.
	open atomic.Int32
	// closing is closed when sessions must end.
	closing chan struct{}
}

// liveTail is a session of StartLiveTail.
type liveTail struct {
	*tails
	in      *wire.StartLiveTailInput
	groups  map[string]string // the identifier of the request, by name
	pattern logs.Pattern
	// seen is how many of the model's streams the session knows.
	seen int
	// followed are the streams that can grow.
	followed []*followedStream
	events   []wire.LiveTailSessionLogEvent
	sampled  bool
}

// followedStream is a stream of a live tail.
type followedStream struct {
	model.LogStream
	at    int64 // position of the next event
	ended bool  // its attempt had ended before the stream was read
}

// startLiveTail checks a request and returns its session.
func (ts *tails) startLiveTail(_ *call.Call, in *wire.StartLiveTailInput) (*liveTail, error) {
	named := max(len(in.LogStreamNames), len(in.LogStreamNamePrefixes))
	switch {
	case len(in.LogGroupIdentifiers) < 1 || len(in.LogGroupIdentifiers) > maxTailGroups:
		return nil, call.Invalid("logGroupIdentifiers must have 1 to %d ARNs.", maxTailGroups)
	case len(in.LogStreamNames) > 0 && len(in.LogStreamNamePrefixes) > 0:
		return nil, call.Invalid("Only one of logStreamNames and logStreamNamePrefixes can be given.")
	case named > maxTailStreams:
		return nil, call.Invalid("logStreamNames and logStreamNamePrefixes can have at most %d elements.",
			maxTailStreams)
	case named > 0 && len(in.LogGroupIdentifiers) > 1:
		return nil, call.Invalid("Log streams can be selected in one log group only.")
	}
	pattern, err := logs.ParsePattern(aws.ToString(in.LogEventFilterPattern))
	if err != nil {
		return nil, call.Invalid("logEventFilterPattern: %s.", err)
	}
	t := &liveTail{tails: ts, in: in, groups: map[string]string{}, pattern: pattern}
	m, done := ts.state.View()
	defer done()
	for _, id := range in.LogGroupIdentifiers {
		group, err := groupOf(&id)
		if err != nil {
			return nil, err
		}
		if m.LogGroups[group] == nil {
			return nil, errNoGroup
		}
		t.groups[group] = id
	}
	return t, nil
}

// includes reports whether the session has the events of a stream.
func (t *liveTail) includes(s model.LogStream) bool {
	switch {
	case t.groups[s.Group] == "":
		return false
	case len(t.in.LogStreamNames) > 0:
		return slices.Contains(t.in.LogStreamNames, s.Name)
	case len(t.in.LogStreamNamePrefixes) > 0:
		return slices.ContainsFunc(t.in.LogStreamNamePrefixes,
			func(prefix string) bool { return strings.HasPrefix(s.Name, prefix) })
	}
	return true
}

// Stream sends a session: its start, and an update about every second. The session ends after maxTailTime, or with
// the engine, the client's connection or Close.
func (t *liveTail) Stream(w http.ResponseWriter, r *http.Request) {
	if t.open.Add(1) > maxTails {
		t.open.Add(-1)
		_ = wire.WriteFault(w, &wire.Fault{Type: "LimitExceededException",
			Message: "Only 15 live tail sessions can be open at the same time."})
		return
	}
	defer t.open.Add(-1)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server's limit is for requests
	id := call.NewID()
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	t.followNew()
	if t.readTail(true) != nil {
		return
	}
	start := wire.LiveTailSessionStart{SessionId: &id, RequestId: aws.String(w.Header().Get("X-Amzn-RequestId")),
		LogGroupIdentifiers: t.in.LogGroupIdentifiers,
		LogStreamNames:      t.in.LogStreamNames, LogStreamNamePrefixes: t.in.LogStreamNamePrefixes,
		LogEventFilterPattern: aws.String(aws.ToString(t.in.LogEventFilterPattern))}
	// The protocol of JSON services begins a stream with the members of the output that are not in the stream.
	if sendEvent(w, "event", "initial-response", struct{}{}) != nil ||
		sendEvent(w, "event", "sessionStart", start) != nil || control.Flush() != nil {
		return
	}
	timeout := time.NewTimer(maxTailTime)
	defer timeout.Stop()
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-timeout.C:
			_ = sendEvent(w, "exception", "SessionTimeoutException",
				map[string]string{"message": "The session has been open for three hours."})
			return
		case <-t.closing:
			return
		case <-r.Context().Done():
			return
		}
		t.followNew()
		if err := t.readTail(false); err != nil {
			_ = sendEvent(w, "exception", "SessionStreamingException", map[string]string{"message": err.Error()})
			return
		}
		if sendEvent(w, "event", "sessionUpdate", t.update()) != nil || control.Flush() != nil {
			return
		}
	}
}

// followNew adds the streams that are new, and finds out which attempts have ended.
func (t *liveTail) followNew() {
	m, done := t.state.View()
	defer done()
	for _, s := range m.LogStreams[t.seen:] {
		if t.includes(s) {
			t.followed = append(t.followed, &followedStream{LogStream: s})
		}
	}
	t.seen = len(m.LogStreams)
	for _, f := range t.followed {
		f.ended = f.Task != nil && f.Task.Attempts[f.Attempt].StoppedAt > 0
	}
}

// readTail reads the new events of all streams. With skip it only goes to their ends.
func (t *liveTail) readTail(skip bool) error {
	kept := t.followed[:0]
	for _, f := range t.followed {
		if skip && f.ended {
			continue
		}
		log, err := t.openStream(f.Group, f.Name)
		if errors.Is(err, errNoStream) || errors.Is(err, errNoGroup) {
			continue // deleted, or the attempt ended before it had a log
		}
		if err != nil {
			return err
		}
		if skip {
			f.at = log.End
		} else {
			err = t.readNew(f, log)
		}
		log.Close()
		if err != nil {
			return err
		}
		if !f.ended {
			kept = append(kept, f)
		}
	}
	clear(t.followed[len(kept):])
	t.followed = kept
	return nil
}

// readNew reads the new events of a stream. When there are far too many for an update, it skips the rest.
func (t *liveTail) readNew(f *followedStream, log *logs.Stream) error {
	for f.at < log.End {
		lines, next, err := log.Forward(f.at, maxEvents)
		if err != nil || len(lines) == 0 {
			return err
		}
		for _, l := range lines {
			text := strings.ToValidUTF8(string(l.Text), "\uFFFD")
			if len(t.events) >= maxTailMessages {
				t.sampled = true
				break
			}
			if text == "" || !t.pattern.Matches(text) {
				continue
			}
			t.events = append(t.events, wire.LiveTailSessionLogEvent{Message: &text, LogStreamName: &f.Name,
				LogGroupIdentifier: aws.String(t.groups[f.Group]),
				Timestamp:          aws.Int64(log.Time(l.End)), IngestionTime: aws.Int64(log.Ingested(l.End))})
		}
		if f.at = next; t.sampled {
			f.at = log.End
		}
	}
	return nil
}

// update returns the update with the events that were read, and begins the next one. Of too many events it takes some
// at equal distances.
func (t *liveTail) update() *wire.LiveTailSessionUpdate {
	slices.SortStableFunc(t.events, func(a, b wire.LiveTailSessionLogEvent) int {
		return cmp.Compare(*a.Timestamp,
			*b.Timestamp)
	})
	events := t.events
	if n := len(events); n > maxTailEvents {
		t.sampled = true
		for i := range maxTailEvents {
			events[i] = events[i*n/maxTailEvents]
		}
		events = events[:maxTailEvents]
	}
	if events == nil {
		events = []wire.LiveTailSessionLogEvent{}
	}
	out := &wire.LiveTailSessionUpdate{SessionResults: events,
		SessionMetadata: &wire.LiveTailSessionMetadata{Sampled: aws.Bool(t.sampled)}}
	t.events, t.sampled = nil, false
	return out
}

// sendEvent sends a message of an event stream. kind is event or exception, name its type.
func sendEvent(w http.ResponseWriter, kind, name string, payload any) error {
	body, err := wire.Marshal(payload)
	if err != nil {
		return err
	}
	var m eventstream.Message
	m.Headers.Set(":message-type", eventstream.StringValue(kind))
	m.Headers.Set(":"+kind+"-type", eventstream.StringValue(name))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	m.Payload = body
	return eventstream.NewEncoder().Encode(w, m)
}

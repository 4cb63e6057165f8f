package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/wire"
)

// Record is one line of the journal: what happened at one time.
type Record struct {
	At     int64   `json:"at"` // epoch milliseconds
	Events []Event `json:"events"`
	// Batchctl is the version that writes this record and the next ones, in the first record of a
	// version; "" in the others.
	Batchctl string `json:"batchctl,omitempty"`
}

// UnknownError reports a record that this version cannot read: a later one wrote it.
type UnknownError struct{ What string }

// Error names what is unknown.
func (e *UnknownError) Error() string { return e.What }

// ReadRecord reads a record. The error is an *UnknownError if the record has an event, or a value such
// as a status, that this version does not know; the record then has only its Batchctl. Unknown members
// of known events are ignored: later versions add only members that may be ignored.
func ReadRecord(text []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		var writer struct{ Batchctl string }
		if json.Unmarshal(text, &writer) != nil { // not even an object
			return Record{}, err
		}
		return Record{Batchctl: writer.Batchctl}, &UnknownError{strings.TrimPrefix(err.Error(), "json: ")}
	}
	for i, v := range r.Events {
		if v == (Event{}) {
			return Record{Batchctl: r.Batchctl}, &UnknownError{"unknown event " + eventName(text, i)}
		}
	}
	return r, nil
}

// eventName returns the quoted name of an event that this version does not know.
func eventName(text []byte, i int) string {
	var r struct{ Events []map[string]json.RawMessage }
	if err := json.Unmarshal(text, &r); err != nil || i >= len(r.Events) || len(r.Events[i]) == 0 {
		return "without a name"
	}
	return strconv.Quote(slices.Min(slices.Collect(maps.Keys(r.Events[i]))))
}

// Append appends the record as encoding/json writes it. The events that every job has
// are written here, because most records have them.
func (r Record) Append(text []byte) ([]byte, error) {
	text = append(text, `{"at":`...)
	text = strconv.AppendInt(text, r.At, 10)
	text = append(text, `,"events":[`...)
	for i, v := range r.Events {
		if i > 0 {
			text = append(text, ',')
		}
		var err error
		if text, err = v.append(text); err != nil {
			return nil, err
		}
	}
	text = append(text, ']')
	text = appendGiven(text, `,"batchctl":`, r.Batchctl)
	return append(text, '}'), nil
}

// append writes the events that every job has; others are encoded by encoding/json.
func (v Event) append(text []byte) ([]byte, error) {
	switch {
	case v.Submitted != nil && v.Submitted.Request.text != nil:
		return v.Submitted.append(text), nil
	case v.Moved != nil:
		return v.Moved.append(text), nil
	case v.Started != nil && len(v.Started.GPUs) == 0:
		return v.Started.append(text), nil
	case v.Launched != nil:
		return v.Launched.append(text), nil
	case v.Ended != nil && len(v.Ended.Containers) == 0 && !v.Ended.Preempted:
		return v.Ended.append(text), nil
	}
	other, err := json.Marshal(v)
	return append(text, other...), err
}

func (s *Submission) append(text []byte) []byte {
	text = appendMember(text, `{"submitted":{"id":`, s.ID)
	text = appendMember(text, `,"definition":`, s.Definition)
	text = appendGiven(text, `,"directory":`, s.Directory)
	text = appendGiven(text, `,"invocation":`, s.Invocation)
	text = appendGiven(text, `,"to":`, s.To.String())
	text = append(text, `,"request":`...)
	text = append(text, s.Request.text...)
	return append(text, "}}"...)
}

func (v *move) append(text []byte) []byte {
	text = appendMember(text, `{"moved":{"job":`, v.Job)
	if v.All {
		text = append(text, `,"all":true`...)
	}
	text = appendMember(text, `,"to":`, v.To.String())
	text = appendGiven(text, `,"reason":`, v.Reason)
	return append(text, "}}"...)
}

func (s *Start) append(text []byte) []byte {
	text = appendMember(text, `{"started":{"job":`, s.Job)
	text = appendMember(text, `,"stream":`, s.Stream)
	text = appendGiven(text, `,"environment":`, s.Environment)
	text = appendGiven(text, `,"executor":`, s.Executor)
	return append(text, "}}"...)
}

func (l *Launch) append(text []byte) []byte {
	text = appendMember(text, `{"launched":{"job":`, l.Job)
	text = appendGiven(text, `,"handle":`, l.Handle)
	text = appendGiven(text, `,"imageDigest":`, l.ImageDigest)
	return append(text, "}}"...)
}

func (v *end) append(text []byte) []byte {
	text = appendMember(text, `{"ended":{"job":`, v.Job)
	if v.Exit != nil {
		text = append(text, `,"exit":`...)
		text = strconv.AppendInt(text, int64(*v.Exit), 10)
	}
	text = appendGiven(text, `,"reason":`, v.Reason)
	text = appendMember(text, `,"statusReason":`, v.StatusReason)
	text = appendMember(text, `,"to":`, v.To.String())
	return append(text, "}}"...)
}

// appendMember appends a member with a text as its value.
func appendMember(text []byte, name, value string) []byte {
	return wire.AppendString(append(text, name...), value)
}

// appendGiven is appendMember for a member that is left out when it is empty.
func appendGiven(text []byte, name, value string) []byte {
	if value == "" {
		return text
	}
	return appendMember(text, name, value)
}

// Package ladder decides how a failed job is submitted again: with more memory, in another queue,
// or unchanged. It is pure: it sends nothing and reads no clock. The client executes its steps.
package ladder

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/text"
)

// Variable is the environment variable of a job that has its rungs, as Format writes them. So the
// rungs are wherever the job is: in DescribeJobs, in the ledger, and in an event of EventBridge.
const Variable = "BATCHCTL_ON_FAILURE"

// Tag is the tag of a job that says which program executes its rungs: ByClient or ByStateMachine.
const Tag = "batchctl:ladder"

// Values of Tag. Exactly one program submits the steps of a job.
const (
	// ByClient is the batchctl whose ledger has the submission.
	ByClient = "client"
	// ByStateMachine is the state machine of `batchctl infra deploy --with ladder`.
	ByStateMachine = "state-machine"
)

// Cause is a kind of failure that a rung can handle.
type Cause string

// The causes, by their names in a job file.
const (
	OutOfMemory Cause = "outOfMemory"
	SpotReclaim Cause = "spotReclaim"
	NoCapacity  Cause = "noCapacity"
	HostError   Cause = "hostError"
	ExitCodes   Cause = "exitCodes"
)

// Causes returns all causes.
func Causes() []Cause { return []Cause{OutOfMemory, SpotReclaim, NoCapacity, HostError, ExitCodes} }

// Text describes the cause in a message.
func (c Cause) Text() string {
	switch c {
	case OutOfMemory:
		return "out of memory"
	case SpotReclaim:
		return "its instance was reclaimed"
	case NoCapacity:
		return "no capacity"
	case HostError:
		return "its host failed"
	}
	return "its exit code"
}

const (
	// MaxSteps bounds the steps of a job, of all rungs together. AWS Batch accepts the same number
	// of attempts in a retryStrategy (API reference, RetryStrategy).
	MaxSteps = 10
	// MinFactor is the smallest factor of memory: less would use many steps for little.
	MinFactor = 1.1
	// DefaultFactor applies to a rung without a factor.
	DefaultFactor = 2.0
)

// Rung says what to do after one cause.
type Rung struct {
	Cause Cause
	// Factor multiplies the memory after OutOfMemory, up to UpToMiB.
	Factor  float64
	UpToMiB int
	// Attempts is how often the job is submitted again to the same queue.
	Attempts int
	// After is how long a job waits in RUNNABLE until NoCapacity applies.
	After time.Duration
	// Queue is the queue to change to; "" for none.
	Queue string
	// Target is the target of the platform file to change to; "" for none. Queue is then a queue
	// there; "" means the queue of the same name.
	Target string
	// Codes are the exit codes of the program that ExitCodes applies to.
	Codes []int32
}

// Ladder is the rungs of a job. Each cause has at most one rung.
type Ladder []Rung

// Rung returns the rung of a cause.
func (l Ladder) Rung(c Cause) (Rung, bool) {
	i := slices.IndexFunc(l, func(r Rung) bool { return r.Cause == c })
	if i < 0 {
		return Rung{}, false
	}
	return l[i], true
}

// Queues returns the queues of the job's own target that steps may change to.
func (l Ladder) Queues() (names []string) {
	for _, r := range l {
		if r.Queue != "" && r.Target == "" && !slices.Contains(names, r.Queue) {
			names = append(names, r.Queue)
		}
	}
	return names
}

// settings are the members of a rung in Variable. Memory is a factor, UpTo MiB, After seconds.
type settings struct {
	Memory   float64 `json:"memory,omitempty"`
	UpTo     int     `json:"upTo,omitempty"`
	Attempts int     `json:"attempts,omitempty"`
	After    int     `json:"after,omitempty"`
	Queue    string  `json:"queue,omitempty"`
	Target   string  `json:"target,omitempty"`
	Codes    []int32 `json:"codes,omitempty"`
}

// Format writes a ladder as the value of Variable; "" for none.
func (l Ladder) Format() string {
	if len(l) == 0 {
		return ""
	}
	var list []map[Cause]settings
	for _, r := range l {
		list = append(list, map[Cause]settings{r.Cause: {r.Factor, r.UpToMiB, r.Attempts, int(r.After / time.Second),
			r.Queue, r.Target, r.Codes}})
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // Check refuses factors that JSON cannot express
	}
	return string(text)
}

// Parse reads the value of Variable. It refuses what Format does not write: a rung that is not
// understood must not become another one.
func Parse(text string) (Ladder, error) {
	if text == "" {
		return nil, nil
	}
	var list []map[Cause]settings
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", Variable, err)
	}
	var l Ladder
	for _, one := range list {
		if len(one) != 1 {
			return nil, fmt.Errorf("%s: a rung has %d causes; want one", Variable, len(one))
		}
		for cause, s := range one {
			l = append(l, Rung{cause, s.Memory, s.UpTo, s.Attempts, time.Duration(s.After) * time.Second, s.Queue,
				s.Target, s.Codes})
		}
	}
	if err := l.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", Variable, err)
	}
	return l, nil
}

// Check returns an error if a rung is incomplete, or a cause has two.
func (l Ladder) Check() error {
	seen := map[Cause]bool{}
	for _, r := range l {
		if seen[r.Cause] {
			return fmt.Errorf("%s has two rungs; write one", r.Cause)
		}
		seen[r.Cause] = true
		if err := r.check(); err != nil {
			return err
		}
	}
	return nil
}

// check checks one rung.
func (r Rung) check() error {
	switch {
	case r.Attempts < 0 || r.Attempts > MaxSteps:
		return fmt.Errorf("%s: attempts is %d; want 0 to %d", r.Cause, r.Attempts, MaxSteps)
	case r.Cause == OutOfMemory && !(r.Factor >= MinFactor && r.Factor <= 100):
		return fmt.Errorf("%s: memory grows by %g; want a factor of %g to 100", r.Cause, r.Factor, MinFactor)
	case r.Cause == OutOfMemory && r.UpToMiB <= 0:
		return fmt.Errorf("%s: upTo is missing; it limits the memory", r.Cause)
	case r.Cause == SpotReclaim && r.Attempts == 0 && r.Queue == "":
		return fmt.Errorf("%s: write attempts, queue, or both", r.Cause)
	case r.Cause == NoCapacity && (r.After <= 0 || r.Queue == "" && r.Target == ""):
		return fmt.Errorf("%s: write after, and queue or target", r.Cause)
	case r.Cause != NoCapacity && r.Target != "":
		return fmt.Errorf("%s: only %s changes the target", r.Cause, NoCapacity)
	case (r.Cause == HostError || r.Cause == ExitCodes) && r.Attempts == 0:
		return fmt.Errorf("%s: attempts is 0; want at least 1", r.Cause)
	case r.Cause == ExitCodes && len(r.Codes) == 0:
		return fmt.Errorf("%s: codes is empty", r.Cause)
	case r.Cause == ExitCodes && slices.ContainsFunc(r.Codes, func(c int32) bool { return c < 1 || c > 255 }):
		return fmt.Errorf("%s: an exit code is a number from 1 to 255", r.Cause)
	case !slices.Contains(Causes(), r.Cause):
		return errors.New("unknown cause " + string(r.Cause))
	}
	return nil
}

// String describes what the rung does, as a clause.
func (r Rung) String() string {
	times := text.Count(r.Attempts, "more job")
	switch {
	case r.Cause == OutOfMemory:
		return fmt.Sprintf("%s: memory x%g, up to %d MiB", r.Cause, r.Factor, r.UpToMiB)
	case r.Cause == NoCapacity:
		text := fmt.Sprintf("%s for %s: cancel, and submit to", r.Cause, r.After)
		if r.Queue != "" {
			text += " queue " + r.Queue
		}
		if r.Target != "" && r.Queue != "" {
			text += " of"
		}
		if r.Target != "" {
			text += " target " + r.Target
		}
		return text
	case r.Cause == ExitCodes:
		return fmt.Sprintf("%s %s: %s", r.Cause, strings.Trim(fmt.Sprint(r.Codes), "[]"), times)
	case r.Queue != "" && r.Attempts == 0:
		return fmt.Sprintf("%s: submit to queue %s", r.Cause, r.Queue)
	case r.Queue != "":
		return fmt.Sprintf("%s: %s, then one in queue %s", r.Cause, times, r.Queue)
	}
	return fmt.Sprintf("%s: %s", r.Cause, times)
}

// NoticeTag is the tag of a job with the topics of Amazon SNS that the state machine sends a message
// to when the job has ended, as FormatTopics writes them.
const NoticeTag = "batchctl:notify"

// FormatTopics returns the value of NoticeTag for topics, or why a tag cannot have it. A space separates topics: no
// name of a topic has one. Webhooks are never in a tag: their URLs can be secrets, and every user with permission to
// describe a job sees its tags.
func FormatTopics(topics []string) (value, why string) {
	if value = strings.Join(topics, " "); len(value) > catalog.MaxTagValueLength {
		return "", fmt.Sprintf("the topics have %d characters, but the tag %s can have at most %d", len(value),
			NoticeTag, catalog.MaxTagValueLength)
	}
	return value, ""
}

// MayReach reports whether the state machine that acts for a queue could have permission for a topic.
// It acts for the queues PREFIX-* of its project, and may publish to the topics PREFIX-*.
func MayReach(queue, topic string) bool {
	topic = topic[strings.LastIndex(topic, ":")+1:]
	same := 0
	for same < min(len(queue), len(topic)) && queue[same] == topic[same] {
		same++
	}
	// A prefix has at least 2 characters (parameter Project of the templates).
	return strings.LastIndex(queue[:same], "-") >= 2
}

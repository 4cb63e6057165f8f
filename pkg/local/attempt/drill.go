package attempt

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// Causes with which a drill ends an attempt.
var (
	ErrReclaimed   = errors.New("the drill reclaimed the instance")
	ErrOutOfMemory = errors.New("the drill let the container run out of memory")
)

// isDrill reports whether a drill ended an attempt: its machine or its container is gone, and with it all its files.
func isDrill(cause error) bool {
	return errors.Is(cause, ErrReclaimed) || errors.Is(cause, ErrOutOfMemory)
}

// Blow is one failure of a drill.
type Blow struct {
	// Cause is ErrReclaimed or ErrOutOfMemory.
	Cause error
	// At is when it happens, in the running time of all attempts of a job. If Percent is not 0, it is a part of the time
	// of an undrilled run instead.
	At      time.Duration
	Percent float64
}

// blowNames are the failures that a drill knows.
var blowNames = map[string]error{"reclaim": ErrReclaimed, "oom": ErrOutOfMemory}

// ParseDrill parses a drill such as reclaim@40%,oom@90s. The order in the text is that of the failures.
func ParseDrill(text string) (blows []Blow, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, at, ok := strings.Cut(strings.TrimSpace(part), "@")
		b := Blow{Cause: blowNames[name]}
		if !ok || b.Cause == nil {
			return nil, fmt.Errorf("invalid failure %q: write reclaim@40%%, reclaim@30s, oom@70%% or oom@30s", part)
		}
		if percent, is := strings.CutSuffix(at, "%"); is {
			b.Percent, err = strconv.ParseFloat(percent, 64)
			if err != nil || !(b.Percent > 0 && b.Percent < 100) {
				return nil, fmt.Errorf("invalid percentage %q: write one above 0%% and below 100%%", at)
			}
		} else if b.At, err = time.ParseDuration(at); err != nil || b.At <= 0 {
			return nil, fmt.Errorf("invalid time %q: write a percentage such as 40%%, or a time such as 30s", at)
		}
		blows = append(blows, b)
	}
	return blows, nil
}

// String is the failure as ParseDrill reads it.
func (b Blow) String() string {
	at := b.At.String()
	if b.Percent != 0 {
		at = strconv.FormatFloat(b.Percent, 'g', -1, 64) + "%"
	}
	for name, cause := range blowNames {
		if cause == b.Cause {
			return name + "@" + at
		}
	}
	return at
}

// After returns when the failure happens. reference is the running time of an undrilled run.
func (b Blow) After(reference time.Duration) time.Duration {
	if b.Percent != 0 {
		return time.Duration(b.Percent / 100 * float64(reference))
	}
	return b.At
}

// Retried returns how many of the failures a retry strategy retries, from the first one on.
func Retried(s *types.RetryStrategy, blows []Blow) int {
	for i, b := range blows {
		if !model.Retries(s, i+1, b.outcome(model.Outcome{StatusReason: model.ReasonExited})) {
			return i
		}
	}
	return len(blows)
}

// outcome returns how AWS Batch reports an attempt that ended with the failure.
func (b Blow) outcome(o model.Outcome) model.Outcome { return drilled(o, b.Cause) }

// drilled returns how AWS Batch reports an attempt that a drill ended. After a reclaim there is no exit code: the
// agent of the instance is gone. The texts are those of AWS Batch and Amazon ECS.
func drilled(o model.Outcome, cause error) model.Outcome {
	if errors.Is(cause, ErrOutOfMemory) {
		o.Exit, o.Reason, o.StatusReason = aws.Int32(137), "OutOfMemoryError: Container killed due to memory usage",
			model.ReasonExited
		return o
	}
	o.Exit, o.Reason, o.StatusReason = nil, "", model.ReasonHost
	return o
}

package attempt

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// TestParseDrill reads drills, and prints them as they were written.
func TestParseDrill(t *testing.T) {
	blows, err := ParseDrill("reclaim@40%, oom@1m30s,reclaim@0.5%")
	if err != nil || len(blows) != 3 || blows[1].Cause != ErrOutOfMemory || blows[1].At != 90*time.Second || blows[2].Percent != 0.5 {
		t.Fatalf("%v: %+v", err, blows)
	}
	for i, want := range []string{"reclaim@40%", "oom@1m30s", "reclaim@0.5%"} {
		if blows[i].String() != want {
			t.Errorf("%s, want %s", blows[i], want)
		}
	}
	if at := blows[0].After(10 * time.Minute); at != 4*time.Minute {
		t.Errorf("40%% of 10 minutes is %v", at)
	}
	for text, want := range map[string]string{
		"": "invalid failure", "reclaim": "invalid failure", "fire@40%": "invalid failure", "reclaim@40%,": "invalid failure",
		"reclaim@0%": "invalid percentage", "oom@100%": "invalid percentage", "oom@-1%": "invalid percentage", "oom@NaN%": "invalid percentage",
		"oom@": "invalid time", "oom@-1s": "invalid time", "oom@0s": "invalid time", "oom@soon": "invalid time",
	} {
		if _, err := ParseDrill(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestRetried checks which failures of a drill a retry strategy retries.
func TestRetried(t *testing.T) {
	blows := []Blow{{Cause: ErrReclaimed, At: 1}, {Cause: ErrOutOfMemory, At: 2}}
	rule := func(reason, status string, action types.RetryAction) types.EvaluateOnExit {
		r := types.EvaluateOnExit{Action: action}
		if reason != "" {
			r.OnReason = &reason
		}
		if status != "" {
			r.OnStatusReason = &status
		}
		return r
	}
	for name, c := range map[string]struct {
		strategy *types.RetryStrategy
		want     int
	}{
		"none":           {nil, 0},
		"one attempt":    {&types.RetryStrategy{Attempts: aws.Int32(1)}, 0},
		"two attempts":   {&types.RetryStrategy{Attempts: aws.Int32(2)}, 1},
		"three attempts": {&types.RetryStrategy{Attempts: aws.Int32(3)}, 2},
		"only reclaims": {&types.RetryStrategy{Attempts: aws.Int32(9), EvaluateOnExit: []types.EvaluateOnExit{
			rule("", "Host EC2*", types.RetryActionRetry), rule("*", "", types.RetryActionExit)}}, 1},
		"both": {&types.RetryStrategy{Attempts: aws.Int32(9), EvaluateOnExit: []types.EvaluateOnExit{
			rule("", "Host EC2*", types.RetryActionRetry), rule("OutOfMemoryError*", "", types.RetryActionRetry), rule("*", "", types.RetryActionExit)}}, 2},
	} {
		if got := Retried(c.strategy, blows); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

package model

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

func TestRetries(t *testing.T) {
	exit := func(pattern string, action types.RetryAction) types.EvaluateOnExit {
		return types.EvaluateOnExit{OnExitCode: &pattern, Action: action}
	}
	reason := func(pattern string, action types.RetryAction) types.EvaluateOnExit {
		return types.EvaluateOnExit{OnReason: &pattern, Action: action}
	}
	status := func(pattern string, action types.RetryAction) types.EvaluateOnExit {
		return types.EvaluateOnExit{OnStatusReason: &pattern, Action: action}
	}
	one := Outcome{Exit: aws.Int32(1), StatusReason: ReasonExited}
	host := Outcome{StatusReason: "Host EC2 (instance i-0a1b2c3d) terminated."}
	killed := Outcome{Exit: aws.Int32(137), Reason: "OutOfMemoryError: Container killed due to memory usage", StatusReason: ReasonExited}
	spot := []types.EvaluateOnExit{status("Host EC2*", "RETRY"), reason("*", "EXIT")}
	for _, c := range []struct {
		name     string
		attempts int32
		rules    []types.EvaluateOnExit
		made     int
		outcome  Outcome
		want     bool
	}{
		{"first of three", 3, nil, 1, one, true},
		{"last of three", 3, nil, 3, one, false},
		{"only one", 1, nil, 1, one, false},
		{"spot rule, host lost", 5, spot, 1, host, true},
		{"spot rule, host lost, attempts used up", 5, spot, 5, host, false},
		{"spot rule, command failed", 5, spot, 1, one, false},
		{"exact exit code", 3, []types.EvaluateOnExit{exit("1", "EXIT")}, 1, one, false},
		{"exit code is no prefix match", 3, []types.EvaluateOnExit{exit("1", "EXIT")}, 1, killed, true},
		{"exit code with asterisk", 3, []types.EvaluateOnExit{exit("1*", "EXIT")}, 1, killed, false},
		{"exit code of a lost host", 3, []types.EvaluateOnExit{exit("1", "EXIT")}, 1, host, true},
		{"no rule matches: retried", 3, []types.EvaluateOnExit{exit("42", "EXIT"), reason("Cannot*", "EXIT")}, 1, one, true},
		{"first match wins", 3, []types.EvaluateOnExit{exit("137", "RETRY"), reason("OutOf*", "EXIT")}, 1, killed, true},
		{"first match wins, other order", 3, []types.EvaluateOnExit{reason("OutOf*", "EXIT"), exit("137", "RETRY")}, 1, killed, false},
		{"action in lower case", 3, []types.EvaluateOnExit{exit("1", "retry")}, 1, one, true},
		{"all conditions of a rule", 3, []types.EvaluateOnExit{{OnExitCode: aws.String("137"), OnReason: aws.String("Cannot*"), Action: "EXIT"}}, 1, killed, true},
		{"all conditions hold", 3, []types.EvaluateOnExit{{OnExitCode: aws.String("137"), OnReason: aws.String("OutOf*"), Action: "EXIT"}}, 1, killed, false},
		{"case counts", 3, []types.EvaluateOnExit{status("host ec2*", "EXIT")}, 1, host, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &types.RetryStrategy{Attempts: &c.attempts, EvaluateOnExit: c.rules}
			if got := retries(s, c.made, c.outcome); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if retries(nil, 1, one) {
		t.Error("a job without a retry strategy was retried")
	}
}

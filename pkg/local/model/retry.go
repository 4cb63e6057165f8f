package model

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Texts of Batch, as DescribeJobs shows them in statusReason.
const (
	ReasonExited     = "Essential container in task exited"
	ReasonNotStarted = "Task failed to start"
	ReasonTimeout    = "Job attempt duration exceeded timeout"
	ReasonDependency = "Dependent Job failed"
	ReasonChild      = "Array Child Job failed"
	// ReasonHost is the reason of Batch when the instance is terminated; users write evaluateOnExit
	// rules for "Host EC2*". The instance is this machine.
	ReasonHost = "Host EC2 (instance local) terminated."
)

// Outcome is how an attempt ended, in the terms of evaluateOnExit.
type Outcome struct {
	Exit         *int32 // nil: the container left no exit code
	Reason       string // of the container
	StatusReason string // of the attempt
	Containers   []ContainerEnd
	ImageDigest  string // of one container of several
	LogCut       bool   // the log has reached its limit
	// Without are members of the container that were not applied, and whose absence can let a job
	// succeed that fails on AWS.
	Without []string
	// Failure is what a training container wrote to /opt/ml/output/failure.
	Failure string
	// Unrunnable means that the engine cannot run the attempt, and another one neither.
	Unrunnable bool
}

// ContainerEnd is how one container of a task ended.
type ContainerEnd struct {
	Name string `json:"name"`
	// Exit is nil if the container left no exit code or never started.
	Exit   *int32 `json:"exit,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Stopped means that it was asked to end because the task ended.
	Stopped bool `json:"stopped,omitempty"`
	// ImageDigest is that of its image; "" is unknown.
	ImageDigest string `json:"imageDigest,omitempty"`
}

// Retries is retries for a strategy of a request; nil means one attempt.
func Retries(s *types.RetryStrategy, attempts int, o Outcome) bool { return retries(s, attempts, o) }

// retries reports whether a job gets another attempt after a number of attempts failed, the last
// one with o. The first matching entry of evaluateOnExit decides. If none matches, the job is
// retried while attempts remain.
func retries(s *types.RetryStrategy, attempts int, o Outcome) bool {
	if s == nil || attempts >= int(aws.ToInt32(s.Attempts)) {
		return false
	}
	for _, rule := range s.EvaluateOnExit {
		if matches(rule, o) {
			return strings.EqualFold(string(rule.Action), string(types.RetryActionRetry))
		}
	}
	return true
}

// matches reports whether all conditions of a rule match an outcome.
func matches(rule types.EvaluateOnExit, o Outcome) bool {
	exit := ""
	if o.Exit != nil {
		exit = strconv.Itoa(int(*o.Exit))
	}
	return Glob(rule.OnExitCode, exit) && Glob(rule.OnReason, o.Reason) && Glob(rule.OnStatusReason, o.StatusReason)
}

// Glob matches as evaluateOnExit does: exactly, or by prefix if the pattern ends with an asterisk.
// A missing condition matches, and "*" matches a missing text, as users expect of a last, catch-all
// rule.
func Glob(pattern *string, text string) bool {
	if pattern == nil {
		return true
	}
	if start, ok := strings.CutSuffix(*pattern, "*"); ok {
		return strings.HasPrefix(text, start)
	}
	return *pattern == text
}

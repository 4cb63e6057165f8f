package batchapi

import (
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/api/empty"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// checkTags rejects tags that Batch rejects: at most 50, with valid keys and values.
func checkTags(tags map[string]string) error {
	if len(tags) > 50 {
		return &wire.Fault{Type: "ValidationError",
			Message: "1 validation error detected: Value at 'tags' failed to satisfy constraint: " +
				"Member must have length less than or equal to 50"}
	}
	if problem := call.TagProblem(tags); problem != "" {
		return wire.ClientException("%s", problem)
	}
	return nil
}

// checkSchedulingPriority rejects values that Batch rejects; nil is allowed.
func checkSchedulingPriority(p *int32) error {
	if p != nil && (*p < 0 || *p > 9999) {
		return wire.ClientException("Scheduling priority must be between 0 and 9999.")
	}
	return nil
}

// checkVariables rejects names that Batch reserves for itself, and variables that no process
// can have (POSIX: no "=" in a name, no NUL).
func checkVariables(variables []types.KeyValuePair) error {
	for _, v := range variables {
		switch name := aws.ToString(v.Name); {
		case name == "":
			return wire.ClientException("Environment variable name is required.")
		case strings.HasPrefix(name, "AWS_BATCH"):
			return wire.ClientException("Environment variable %s is not valid: names must not start with AWS_BATCH.",
				name)
		case strings.ContainsAny(name, "=\x00") || strings.Contains(aws.ToString(v.Value), "\x00"):
			return wire.ClientException("Environment variable %q is not valid.", name)
		}
	}
	return nil
}

// checkTimeout rejects a timeout below Batch's minimum of 60 seconds.
func checkTimeout(t *types.JobTimeout) error {
	if t != nil && aws.ToInt32(t.AttemptDurationSeconds) < 60 {
		return wire.ClientException("AttemptDurationSeconds in Timeout must be at least 60 seconds.")
	}
	return nil
}

// checkRetry rejects retry strategies that Batch rejects: attempts outside 1 to 10, more than
// five rules, or an invalid rule (API reference of RetryStrategy).
func checkRetry(r *types.RetryStrategy) error {
	switch {
	case r == nil:
		return nil
	case r.Attempts == nil:
		return wire.ClientException(empty.NoAttempts)
	case *r.Attempts < 1 || *r.Attempts > 10:
		return wire.ClientException("RetryAttempts must be between 1 and 10.")
	case len(r.EvaluateOnExit) > 5:
		return wire.ClientException("EvaluateOnExit can have at most 5 entries.")
	}
	for _, rule := range r.EvaluateOnExit {
		if err := checkEvaluateOnExit(rule); err != nil {
			return err
		}
	}
	return nil
}

// These match the conditions of EvaluateOnExit: an asterisk may only be at the end (API reference of EvaluateOnExit).
var (
	exitPattern   = lazy(`^[0-9]*\*?$`)
	reasonPattern = lazy(`^[A-Za-z0-9.:\s]*\*?$`)
)

// checkEvaluateOnExit checks one rule of a retry strategy. Batch accepts actions in any case.
func checkEvaluateOnExit(rule types.EvaluateOnExit) error {
	if a := strings.ToUpper(string(rule.Action)); a != "RETRY" && a != "EXIT" {
		return wire.ClientException("EvaluateOnExit action %q is not valid. Valid actions: [RETRY, EXIT]", rule.Action)
	}
	if rule.OnExitCode == nil && rule.OnReason == nil && rule.OnStatusReason == nil {
		return wire.ClientException("EvaluateOnExit should contain at least one of onExitCode, onReason or onStatusReason.")
	}
	for _, c := range []struct {
		text    *string
		pattern func() *regexp.Regexp
	}{{rule.OnExitCode, exitPattern}, {rule.OnReason, reasonPattern}, {rule.OnStatusReason, reasonPattern}} {
		switch {
		case c.text == nil:
		case len(*c.text) > 512:
			return wire.ClientException("Evaluate on exit condition cannot exceed 512 characters.")
		case !c.pattern().MatchString(*c.text):
			return wire.ClientException("Evaluate on exit condition contains restricted characters.")
		}
	}
	return nil
}

// checkReason rejects a reason that is longer than Batch's limit.
func checkReason(reason string) error {
	if len(reason) > 1024 {
		return wire.ClientException("reason can have at most 1024 characters.")
	}
	return nil
}

// maxShares is how many share identifiers may be active in a queue (API reference of
// CreateJobQueue).
const maxShares = 500

// checkAmount rejects amounts that Batch rejects: at least 4 MiB of memory, and one vCPU or on
// Fargate a quarter. Larger amounts than the machine has are accepted; such a job waits.
func checkAmount(a model.Amount, fargate bool) error {
	least := int64(1000)
	if fargate {
		least = 250
	}
	switch {
	case a.MilliCPU == 0:
		return failed("vCPU is not provided.") // quoted in ASFHyP3/hyp3#586
	case a.MemoryMiB == 0:
		return wire.ClientException("Memory is required.")
	case a.MemoryMiB < 4:
		return wire.ClientException("Memory must be at least 4 Mib, got %d Mib.", a.MemoryMiB)
	case a.MilliCPU < least:
		return wire.ClientException("vCPU must be at least %g, got %g.", float64(least)/1000, float64(a.MilliCPU)/1000)
	}
	return nil
}

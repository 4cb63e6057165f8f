// Package exit ends commands: with a code, what went wrong and the next step.
package exit

import (
	"errors"
	"fmt"
	"strings"
)

// Exit codes, the same in every command and stated in every --help.
const (
	// ExitOK: done, and nothing wrong was found.
	OK = 0
	// ExitProblem: the files have problems, or the job FAILED.
	Problem = 1
	// ExitUsage: the command line cannot be understood.
	BadUsage = 2
	// ExitNotDone: it could not be checked or done: a file that cannot be read,
	// an endpoint that does not answer, a call that the service refused.
	NotDone = 3
	// ExitChange: plan found that submitting would register a job definition, or
	// could not look; submit --check found that the world has moved.
	Change = 4
	// ExitUnplaceable: the job waits in RUNNABLE for something that will not come.
	Unplaceable = 5
	// ExitUnknown: a submission was sent and no answer came, so the job may exist; or it was
	// accepted and may exist twice, or ran twice.
	Unknown = 6
	// ExitTimeout: wait --timeout ended before the job did.
	TimedOut = 7
	// ExitInterrupted: Ctrl-C, SIGTERM, or a terminal that was closed.
	Interrupted = 130
)

// Failure ends a command: what went wrong, what to do next, and the exit code.
// An empty message ends it silently, because everything has been said.
type Failure struct {
	Code    int
	Message string
	Hint    string
}

// Error is what went wrong; "" if that has been said.
func (f *Failure) Error() string { return f.Message }

// Fail ends a command with a code and what went wrong.
func Fail(code int, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Usage ends a command whose command line cannot be understood.
func Usage(format string, args ...any) *Failure { return Fail(BadUsage, format, args...) }

// Silent ends a command with a code after everything has been printed.
func Silent(code int) error {
	if code == OK {
		return nil
	}
	return &Failure{Code: code}
}

// Try adds the next step to a failure.
func (f *Failure) Try(format string, args ...any) *Failure {
	f.Hint = fmt.Sprintf(format, args...)
	return f
}

// From turns any error into one with an exit code.
func From(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	f = Fail(NotDone, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	if strings.Contains(f.Message, "get credentials") {
		return f.Try("set AWS_PROFILE, or \"profile\" of the target in batchctl.json, or log in: aws sso login")
	}
	return f
}

// Package exit describes how commands end: with an exit code, a message and the next step.
package exit

import (
	"errors"
	"fmt"
	"strings"
)

// Exit codes, the same in every command and listed in every --help.
const (
	// OK: done, and no problem was found.
	OK = 0
	// Problem: the files have problems, or the job FAILED.
	Problem = 1
	// BadUsage: the command line is invalid.
	BadUsage = 2
	// NotDone: something could not be checked or done: a file could not be read, an endpoint did
	// not answer, the service rejected a call.
	NotDone = 3
	// Change: plan found that submitting would register a job definition, or could not check;
	// submit --check found that the target has changed.
	Change = 4
	// Unplaceable: the job waits in RUNNABLE for something that will not come.
	Unplaceable = 5
	// Unknown: a submission was sent and no answer came, so the job may exist; or it was accepted
	// and may exist twice, or ran twice.
	Unknown = 6
	// TimedOut: wait --timeout ended before the job did.
	TimedOut = 7
	// Interrupted: Ctrl-C, SIGTERM, or a closed terminal.
	Interrupted = 130
)

// Failure ends a command: what is wrong, what to do next, and the exit code. An empty message ends
// it silently, because everything is already printed.
type Failure struct {
	Code    int
	Message string
	Hint    string
}

// Error returns what is wrong; "" if that is already printed.
func (f *Failure) Error() string { return f.Message }

// Fail returns a failure with a code and what is wrong.
func Fail(code int, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Usage returns a failure for an invalid command line.
func Usage(format string, args ...any) *Failure { return Fail(BadUsage, format, args...) }

// Silent returns a failure with a code, after everything has been printed.
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

// From converts any error to a failure with an exit code.
func From(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	f = Fail(NotDone, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	if strings.Contains(f.Message, "retrieve jwt") { // the SDK's words for a web identity
		return f.Try("check AWS_WEB_IDENTITY_TOKEN_FILE: it names the file with the token that the CI system wrote")
	}
	if strings.Contains(f.Message, "get credentials") {
		return f.Try("set AWS_PROFILE, or \"profile\" of the target in batchctl.json, or log in: aws sso login")
	}
	return f
}

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
	// remedied means that Hint is the remedy of an error: without it, no other next step can succeed.
	remedied bool
}

// Error returns what is wrong; "" if that is already printed.
func (f *Failure) Error() string { return f.Message }

// remedied is an error that knows what to do, such as missing credentials.
type remedied interface {
	error
	Remedy() string
}

// Fail returns a failure with a code and what is wrong. If one of args is an error with a remedy, the remedy is the
// next step.
func Fail(code int, format string, args ...any) *Failure {
	f := &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			f.remedy(err)
		}
	}
	return f
}

// remedy makes the remedy of an error the next step, if it has one.
func (f *Failure) remedy(err error) {
	if text := Remedy(err); text != "" {
		f.Hint, f.remedied = text, true
	}
}

// Remedy returns what an error in the chain of err says to do; "" if none does.
func Remedy(err error) string {
	if known, ok := errors.AsType[remedied](err); ok {
		return known.Remedy()
	}
	return ""
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

// Try adds the next step to a failure that has no remedy.
func (f *Failure) Try(format string, args ...any) *Failure {
	if !f.remedied {
		f.Hint = fmt.Sprintf(format, args...)
	}
	return f
}

// Then adds the command to repeat, after the remedy if there is one.
func (f *Failure) Then(command string) *Failure {
	if f.Hint == "" {
		f.Hint = "repeat: " + command
	} else {
		f.Hint += "; then: " + command
	}
	return f
}

// From converts any error to a failure with an exit code.
func From(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	f = Fail(NotDone, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	f.remedy(err)
	return f
}

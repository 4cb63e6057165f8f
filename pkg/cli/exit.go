package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/check"
)

// Exit codes, the same in every command and stated in every --help.
const (
	// ExitOK: done, and nothing wrong was found.
	ExitOK = 0
	// ExitProblem: the files have problems, or the job FAILED.
	ExitProblem = 1
	// ExitUsage: the command line cannot be understood.
	ExitUsage = 2
	// ExitNotDone: it could not be checked or done: a file that cannot be read,
	// an endpoint that does not answer, a call that the service refused.
	ExitNotDone = 3
	// ExitChange: plan found that submitting would register a job definition, or
	// could not look; submit --check found that the world has moved.
	ExitChange = 4
	// ExitUnplaceable: the job waits in RUNNABLE for something that will not come.
	ExitUnplaceable = 5
	// ExitUnknown: a submission was sent and no answer came, so the job may exist; or it was
	// accepted and may exist twice, or ran twice.
	ExitUnknown = 6
	// ExitTimeout: wait --timeout ended before the job did.
	ExitTimeout = 7
	// ExitInterrupted: Ctrl-C, SIGTERM, or a terminal that was closed.
	ExitInterrupted = 130
)

// failure ends a command: what went wrong, what to do next, and the exit code.
// An empty message ends it silently, because everything has been said.
type failure struct {
	code    int
	message string
	hint    string
}

func (f *failure) Error() string { return f.message }

func fail(code int, format string, args ...any) *failure {
	return &failure{code: code, message: fmt.Sprintf(format, args...)}
}

func usage(format string, args ...any) *failure { return fail(ExitUsage, format, args...) }

// quiet ends a command with a code after everything has been printed.
func quiet(code int) error {
	if code == ExitOK {
		return nil
	}
	return &failure{code: code}
}

// try adds the next step to a failure.
func (f *failure) try(format string, args ...any) *failure {
	f.hint = fmt.Sprintf(format, args...)
	return f
}

// asFailure turns any error into one with an exit code.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	if f := ofCheck(err); f != nil {
		return f
	}
	f = fail(ExitNotDone, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	if strings.Contains(f.message, "get credentials") {
		return f.try("set AWS_PROFILE, or \"profile\" of the target in batchctl.json, or log in: aws sso login")
	}
	return f
}

// ofCheck explains an error of package check; nil for other errors.
func ofCheck(err error) *failure {
	var (
		read    *check.ReadError
		pattern *check.PatternError
		types   *check.CatalogError
	)
	switch {
	case errors.As(err, &read) && read.Platform:
		return asFailure(unreadable(err, makePlatform))
	case errors.As(err, &read):
		return asFailure(unreadable(err, makeJob))
	case errors.As(err, &pattern) && pattern.Err == check.ErrNoMatch:
		return fail(ExitNotDone, "%v", err).try("** stands for any depth: 'jobs/**/*.json'")
	case errors.As(err, &pattern):
		return usage("%v", err)
	case errors.As(err, &types):
		return fail(ExitNotDone, "%v", err).try("make it: %s > %s", catalog.Command, types.Path)
	}
	return nil
}

package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// ErrTimeout is the end of an attempt that ran longer than it may.
var ErrTimeout = errors.New("attempt duration exceeded timeout")

// RunOptions say what the machine gives to a run.
type RunOptions struct {
	// GPUs are the ids of the machine's devices, as CUDA_VISIBLE_DEVICES takes them. The
	// attempt gets as many as it asks for, from the first on.
	GPUs []string
	// Started is called when the command runs; nil: nothing is.
	Started func()
	// Hurry ends the attempt at once when it is closed and the attempt is already asked to
	// end; nil: it always has its 30 seconds.
	Hurry <-chan struct{}
}

// Run runs the attempt with x to its end. dir is where its command runs: a directory
// that is empty or not there yet, which stays for who wants to see what it holds. What
// the command prints goes to log.
//
// When the timeout is over, counted from the start of the command, or ctx ends, the
// command is asked to end (SIGTERM) and killed 30 seconds later. The error is then
// ErrTimeout, or ctx's cause; else it is why there is no regular end. exit is the
// command's code, and negative if it has none.
func (a *Attempt) Run(ctx context.Context, x attempt.Executor, dir string, log *os.File, o RunOptions) (exit int, err error) {
	if dir, err = fresh(dir); err != nil {
		return -1, err
	}
	if err := ctx.Err(); err != nil {
		return -1, context.Cause(ctx)
	}
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	kill, over := attempt.KillAfter(running, o.Hurry)
	defer over()
	exit, err = x.Run(running, attempt.Attempt{
		ID: "replay-" + rand.Text(), Job: a.Job, Container: a.Container, Command: a.Command, Environment: a.Environment,
		Directory: dir, GPUs: o.GPUs[:min(a.gpus(), len(o.GPUs))], Kill: kill,
		Started: func(string) {
			if a.Timeout > 0 {
				timer := time.AfterFunc(a.Timeout, func() { end(ErrTimeout) })
				context.AfterFunc(running, func() { timer.Stop() })
			}
			if o.Started != nil {
				o.Started()
			}
		},
	}, log)
	switch cause := context.Cause(running); {
	case errors.Is(cause, ErrTimeout):
		return exit, fmt.Errorf("%w: %v", ErrTimeout, a.Timeout)
	case cause != nil:
		return exit, cause
	}
	return exit, err
}

// fresh makes the directory. What an earlier run left in it could change the outcome.
func fresh(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of the attempt: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("look into the directory of the attempt: %w", err)
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty, and an attempt starts in an empty directory: name another", dir)
	}
	return dir, nil
}

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

// ErrTimeout reports an attempt that exceeded its timeout.
var ErrTimeout = errors.New("attempt duration exceeded timeout")

// RunOptions are the resources and callbacks of a run.
type RunOptions struct {
	// GPUs are the ids of the machine's devices, as in CUDA_VISIBLE_DEVICES. The attempt gets as
	// many as it requests, starting with the first.
	GPUs []string
	// Started is called when the command runs; it may be nil.
	Started func()
	// Hurry, when closed, kills an attempt that has already received SIGTERM. nil: it always has
	// its 30 seconds.
	Hurry <-chan struct{}
}

// Run runs the attempt with x until it finishes. Its command runs in dir: a.Directory, or a directory
// that is empty or does not exist yet; Run does not remove it. The output of the command goes to log.
//
// When the timeout, counted from the start of the command, is over or ctx ends, the command gets
// SIGTERM, and SIGKILL 30 seconds later. The error is then ErrTimeout or ctx's cause. Any other
// error is why the command could not run normally. exit is the command's exit code, negative if it
// has none.
func (a *Attempt) Run(ctx context.Context, x attempt.Executor, dir string, log *os.File,
	o RunOptions) (exit int, err error) {
	if dir != a.Directory || dir == "" {
		if dir, err = fresh(dir); err != nil {
			return -1, err
		}
	}
	if err := ctx.Err(); err != nil {
		return -1, context.Cause(ctx)
	}
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	kill, over := attempt.KillAfter(running, attempt.StopTimeout, o.Hurry)
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

// fresh creates the directory. Files of an earlier run could change the outcome.
func fresh(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create the directory of the attempt: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("read the directory of the attempt: %w", err)
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty, and an attempt starts in an empty directory: name another directory",
			dir)
	}
	return dir, nil
}

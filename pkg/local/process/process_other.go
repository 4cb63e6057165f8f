//go:build !unix

package process

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// memoryWatch has nothing to watch.
type memoryWatch struct{}

var errNoProcesses = errors.New("CannotStartContainerError: jobs run as processes on Linux, macOS and the BSDs only")

// Run refuses: process groups and signals as Batch needs them are those of Unix.
func (p Executor) Run(context.Context, attempt.Attempt, *os.File) (int, error) {
	return -1, errNoProcesses
}

func newTrees() trees { return nil }

// Start starts a command of the engine's own, which belongs to no attempt.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Clear has nothing to end.
func (p Executor) Clear(string, string) error { return nil }

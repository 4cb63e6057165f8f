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

// errNoProcesses is the reason of jobs on a system without Unix processes.
var errNoProcesses = errors.New("CannotStartContainerError: jobs run as processes on Linux, macOS and the BSDs only")

// Run returns an error: process groups and signals, which Batch needs, exist only on Unix.
func (p Executor) Run(context.Context, attempt.Attempt, *os.File) (int, error) {
	return -1, errNoProcesses
}

func newTrees() trees { return nil }

// Start starts a command of the engine itself.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Clear does nothing.
func (p Executor) Clear(string, string) error { return nil }

// measuring has nothing to measure.
type measuring struct{}

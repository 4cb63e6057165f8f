package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// Process is the executor that runs jobs as processes on this machine.
const Process = "process"

// Executors returns the names that an engine can be started with, and that a job can choose.
func Executors() []string { return []string{Process, Docker, Podman, Either} }

// ChoiceOptions are the default executor, and what jobs may choose instead.
type ChoiceOptions struct {
	// Options are for all containers. Program is the default executor, one of Executors; Processes
	// is required.
	Options
	// AllowProcesses lets a job run as a process where the others run in containers. Such a job has
	// all permissions of the engine's user.
	AllowProcesses bool
}

// Choice has the executors of one engine, by name. It is itself the default executor. Programs
// that only a job names are searched when a job names them.
type Choice struct {
	attempt.Executor
	options ChoiceOptions

	mu     sync.Mutex
	opened map[string]*Executor
}

// NewChoice opens the default executor. The error is an *UnavailableError if it cannot be used.
func NewChoice(ctx context.Context, o ChoiceOptions) (*Choice, error) {
	c := &Choice{Executor: o.Processes, options: o, opened: map[string]*Executor{}}
	if o.Program != Process {
		x, err := New(ctx, o.Options)
		if err != nil {
			return nil, err
		}
		c.Executor = x
		c.options.Options = x.options
		c.opened[o.Program], c.opened[x.kind], c.opened[Either] = x, x, x
		return c, nil
	}
	var err error
	c.options.Options, err = o.resolved()
	return c, err
}

// Chosen returns the executor that a job names, or the default for "". The error says why it is not
// available; a later call may find the program.
func (c *Choice) Chosen(ctx context.Context, name string) (attempt.Executor, error) {
	switch {
	case name == "" || name == c.options.Program:
		return c.Executor, nil
	case !slices.Contains(Executors(), name):
		return nil, fmt.Errorf("unknown executor %q; the executors are: %s", name, strings.Join(Executors(), " "))
	case name == Process && !c.options.AllowProcesses:
		return nil, fmt.Errorf("the job has a tag to run as a process on this machine, outside a container; the engine allows that only with --allow-process")
	case name == Process:
		return c.options.Processes, nil
	}
	return c.open(ctx, name)
}

// open finds a program that a job names. Only a success is kept, so a later job tries again.
func (c *Choice) open(ctx context.Context, name string) (attempt.Executor, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.opened[name]; x != nil {
		return x, nil
	}
	o := c.options.Options
	o.Program = name
	x, err := New(ctx, o)
	if unavailable, ok := errors.AsType[*UnavailableError](err); ok {
		return nil, fmt.Errorf("executor %s: %w (%s)", name, err, unavailable.Hint)
	}
	if err != nil {
		return nil, fmt.Errorf("executor %s: %w", name, err)
	}
	c.opened[name], c.opened[x.kind] = x, x
	return x, nil
}

// Clear ends the rest of an attempt of any executor.
func (c *Choice) Clear(id, handle string) error {
	if x, ok := c.Executor.(*Executor); ok {
		return x.Clear(id, handle)
	}
	return c.options.clear(id, handle, nil)
}

// ClearPod removes the volumes of a pod whose containers have ended.
func (c *Choice) ClearPod(id string) error {
	if x, ok := c.Executor.(*Executor); ok {
		return x.ClearPod(id)
	}
	return nil // processes have no volumes
}

// Close releases what the process executor keeps for later attempts.
func (c *Choice) Close() error {
	if x, ok := c.options.Processes.(io.Closer); ok {
		return x.Close()
	}
	return nil
}

// How describes how commands run by default.
func (c *Choice) How() string {
	if x, ok := c.Executor.(*Executor); ok {
		return x.How()
	}
	return "as a process on this machine"
}

// Contained reports whether jobs run in containers by default.
func (c *Choice) Contained() bool {
	x, ok := c.Executor.(*Executor)
	return ok && x.Contained()
}

// String returns the program with its version, or Process.
func (c *Choice) String() string {
	if x, ok := c.Executor.(*Executor); ok {
		return x.String()
	}
	return Process
}

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

// Process is the executor that runs jobs as processes of this machine.
const Process = "process"

// Executors are the names that an engine can be started with, and that a job can
// choose.
func Executors() []string { return []string{Process, Docker, Podman, Either} }

// ChoiceOptions say how jobs run that do not choose, and what the others may choose.
type ChoiceOptions struct {
	// Options are those of all containers. Program is the executor of the jobs that do
	// not choose, one of Executors; Processes is needed.
	Options
	// AllowProcesses lets a job choose to be a process where the others run in
	// containers. It gives such a job all that the engine's user may do.
	AllowProcesses bool
}

// Choice is the executors of one engine, by name. As a local.Executor it is the one
// of the jobs that do not choose. Programs that only a job asks for are looked for
// when one does.
type Choice struct {
	attempt.Executor
	options ChoiceOptions

	mu     sync.Mutex
	opened map[string]*Executor
}

// NewChoice opens the executor of the jobs that do not choose. The error is an
// *UnavailableError if it cannot be used.
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

// Chosen is the executor that a job names, "" for one that names none. The error says
// why the job cannot have it; asked again, a program may be there.
func (c *Choice) Chosen(ctx context.Context, name string) (attempt.Executor, error) {
	switch {
	case name == "" || name == c.options.Program:
		return c.Executor, nil
	case !slices.Contains(Executors(), name):
		return nil, fmt.Errorf("executor %q is not known; there are: %s", name, strings.Join(Executors(), " "))
	case name == Process && !c.options.AllowProcesses:
		return nil, fmt.Errorf("the job asks to run as a process of this machine, outside the containers of this engine, which allows it only with --allow-process")
	case name == Process:
		return c.options.Processes, nil
	}
	return c.open(ctx, name)
}

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

// Clear ends what is left of an attempt, whichever executor made it.
func (c *Choice) Clear(id, handle string) error {
	if x, ok := c.Executor.(*Executor); ok {
		return x.Clear(id, handle)
	}
	return c.options.clear(id, handle, nil)
}

// Close releases what the executor of processes keeps for later attempts.
func (c *Choice) Close() error {
	if x, ok := c.options.Processes.(io.Closer); ok {
		return x.Close()
	}
	return nil
}

// How says how the commands run of jobs that do not choose.
func (c *Choice) How() string {
	if x, ok := c.Executor.(*Executor); ok {
		return x.How()
	}
	return "as a process of this machine"
}

// Contained reports whether jobs that do not choose run in containers.
func (c *Choice) Contained() bool {
	x, ok := c.Executor.(*Executor)
	return ok && x.Contained()
}

// String is the program with its version, or Process.
func (c *Choice) String() string {
	if x, ok := c.Executor.(*Executor); ok {
		return x.String()
	}
	return Process
}

// Package container runs the attempts of jobs in containers, through the docker
// or podman program of this machine.
package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// Options say which program runs the containers, whose they are, and what jobs
// may ask of this machine.
type Options struct {
	// Program is Docker, Podman, or Either for the first of them that works.
	Program string
	// Dir is the engine's state directory, which exists. No job can mount it.
	Dir string
	// AllowPrivileged lets jobs be privileged and use devices of this machine.
	// Either of them gives a job the whole machine.
	AllowPrivileged bool
	// AllowMounts are directories; what is at or below one of them can be mounted by
	// jobs. None: no path of this machine can. A job that may write to such a
	// directory can change what a later path in it means.
	AllowMounts []string
	// Processes clears what an engine without this executor left; nil: nothing does.
	Processes attempt.Executor
}

// Executor runs attempts in containers. It implements local.Executor.
type Executor struct {
	client
	options Options
}

// New finds the program and asks it whether it can run containers. The error is
// an *UnavailableError if it cannot.
func New(ctx context.Context, o Options) (*Executor, error) {
	o, err := o.resolved()
	if err != nil {
		return nil, err
	}
	c, err := open(ctx, o.Program)
	if err != nil {
		return nil, err
	}
	return &Executor{client: c, options: o}, nil
}

// resolved are the options with the real paths of the directories.
func (o Options) resolved() (Options, error) {
	var err error
	if o.Dir, err = real(o.Dir); err != nil {
		return o, fmt.Errorf("state directory: %w", err)
	}
	o.AllowMounts = slices.Clone(o.AllowMounts)
	for i := range o.AllowMounts {
		if o.AllowMounts[i], err = real(o.AllowMounts[i]); err != nil {
			return o, fmt.Errorf("directory that jobs may mount: %w", err)
		}
	}
	return o, nil
}

// real is the absolute path behind all symbolic links.
func real(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// String is the program with its version.
func (x *Executor) String() string { return x.kind + " " + x.version }

// Contained reports that jobs run in containers.
func (x *Executor) Contained() bool { return true }

// How says how commands run, in words that follow "the command runs".
func (x *Executor) How() string { return "in a container of " + x.kind }

// attemptLabel finds the container of an attempt again; jobLabel is for people
// who look at it.
const (
	attemptLabel = "batchctl.attempt"
	jobLabel     = "batchctl.job"
)

// handle names a container and the program that made it.
func (c client) handle(name string) string { return c.kind + " " + name }

// Owns reports whether a handle is that of a container.
func Owns(handle string) bool {
	kind, name, ok := strings.Cut(handle, " ")
	return ok && (kind == Docker || kind == Podman) && strings.HasPrefix(name, namePrefix)
}

// Remove ends and removes the container of an attempt, with the program that its
// handle names; a container that is gone is no error.
func Remove(id, handle string) error {
	if !Owns(handle) {
		return fmt.Errorf("container handle %q is not one of ours", handle)
	}
	kind, _, _ := strings.Cut(handle, " ")
	return clearWith(kind, id)
}

func clearWith(kind, id string) error {
	c, err := find(kind)
	if err != nil {
		return err
	}
	return c.clear(id)
}

// clear removes the container of an attempt. It goes by the label, so that one
// is found too whose engine died before it could keep the handle.
func (c client) clear(id string) error {
	list, err := c.ask("ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+attemptLabel+"="+id)
	if err != nil {
		return fmt.Errorf("look for the container of an earlier engine: %w", err)
	}
	for _, found := range strings.Fields(list) {
		err = errors.Join(err, c.remove(found))
	}
	return err
}

// Clear removes the container of an attempt, if it has one. What another kind of
// engine left is cleared as that engine would have done it.
func (x *Executor) Clear(id, handle string) error { return x.options.clear(id, handle, &x.client) }

// clear ends what is left of an attempt, whoever made it: the program or the process
// that its handle names, or if there is no handle yet, own and the program that the
// attempt's note names.
func (o Options) clear(id, handle string, own *client) error {
	if Owns(handle) {
		return errors.Join(Remove(id, handle), o.forget(id))
	}
	var left error
	if handle == "" {
		for _, kind := range []string{Docker, Podman} {
			switch {
			case own != nil && own.kind == kind:
				left = errors.Join(left, own.clear(id))
			case o.noted(id, kind):
				left = errors.Join(left, clearWith(kind, id))
			}
		}
	}
	if o.Processes != nil {
		left = errors.Join(left, o.Processes.Clear(id, handle))
	}
	return errors.Join(left, o.forget(id))
}

// attemptDir is an attempt's own directory, for what it needs beside its container.
func (o Options) attemptDir(id string) string { return filepath.Join(o.Dir, "containers", id) }

// note keeps which program makes an attempt's container, for an engine that is started
// with another one before there is a handle.
func (o Options) note(id, kind string) error {
	if err := os.MkdirAll(o.attemptDir(id), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.attemptDir(id), kind), nil, 0o600)
}

func (o Options) noted(id, kind string) bool {
	_, err := os.Stat(filepath.Join(o.attemptDir(id), kind))
	return err == nil
}

func (o Options) forget(id string) error { return os.RemoveAll(o.attemptDir(id)) }

// Run makes a container, starts it with its output going to log, and removes it
// when it has ended.
func (x *Executor) Run(ctx context.Context, a attempt.Attempt, log *os.File) (exit int, err error) {
	defer func() { _ = x.options.forget(a.ID) }() // a directory that stays is in nobody's way
	name := nameOf(a)
	create, err := x.creation(name, a)
	if err != nil {
		return -1, fmt.Errorf("CannotCreateContainerError: %w", err)
	}
	if ctx.Err() != nil {
		return -1, fmt.Errorf("CannotStartContainerError: %w", context.Cause(ctx))
	}
	if err := x.options.note(a.ID, x.kind); err != nil {
		return -1, fmt.Errorf("CannotCreateContainerError: %w", err)
	}
	defer func() {
		switch left := x.remove(name); {
		case left == nil:
		case err == nil:
			err = fmt.Errorf("the container was not removed: %w", left)
		default:
			err = fmt.Errorf("%w; the container was not removed: %w", err, left)
		}
	}()
	if err := x.make(ctx, a, create); err != nil {
		return -1, err
	}
	if ctx.Err() != nil {
		return -1, fmt.Errorf("CannotStartContainerError: %w", context.Cause(ctx))
	}
	return x.carryOut(ctx, name, a, log)
}

// make makes the container, and pulls its image if it is not here. One that is
// here is taken as it is, so that an image just built can be tried before it is
// pushed. A container half made is worse than one more: until a.Kill, ctx's end does
// not end the making.
func (x *Executor) make(ctx context.Context, a attempt.Attempt, create call) error {
	making, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	go func() {
		select {
		case <-a.Kill:
			done()
		case <-making.Done():
		}
	}()
	_, err := x.do(making, create)
	if err == nil {
		return nil
	}
	image := aws.ToString(a.Container.Image)
	if _, missing := x.output(ctx, "image", "inspect", "--", image); missing != nil {
		if err := x.pull(ctx, image); err != nil {
			return fmt.Errorf("CannotPullContainerError: %w", err)
		}
		_, err = x.do(making, create)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("CannotCreateContainerError: %w", err)
	}
	return nil
}

func (x *Executor) pull(ctx context.Context, image string) error {
	_, err := x.output(ctx, "pull", "--quiet", "--", image)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isWorkloads(image):
		return fmt.Errorf("%w; the image of the shipped workloads is built with: make image PROGRAM=%s IMAGE=%s", err, x.kind, image)
	}
	return err
}

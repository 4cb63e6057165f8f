// Package container runs the attempts of jobs in containers, with the local docker or podman
// program.
package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/syncmap"
)

// Options configure the program that runs containers, the engine's directory, and the permissions
// of jobs.
type Options struct {
	// Program is Docker, Podman, or Either for the first of them that works.
	Program string
	// Dir is the engine's state directory, which exists. No job can mount it.
	Dir string
	// AllowPrivileged lets jobs be privileged and use local devices. Either gives a job control
	// of the whole machine.
	AllowPrivileged bool
	// AllowMounts are directories that jobs can mount, including everything below them; without
	// them, jobs can mount no local path. A job that can write to such a directory can change the
	// target of a later path in it.
	AllowMounts []string
	// Processes clears the attempts of an engine without this executor; it may be nil.
	Processes attempt.Executor
}

// Executor runs attempts in containers. It implements attempt.Executor.
type Executor struct {
	client
	options Options
	volumes *sync.Mutex // while volumes of pods are created
	groups  *groups
	digests *syncmap.Map[string, string] // the digests of docker's images, by name and id
}

// New finds the program and checks that it can run containers. The error is an *UnavailableError if
// it cannot.
func New(ctx context.Context, o Options) (*Executor, error) {
	o, err := o.resolved()
	if err != nil {
		return nil, err
	}
	c, err := open(ctx, o.Program)
	if err != nil {
		return nil, err
	}
	return &Executor{client: c, options: o, volumes: new(sync.Mutex), groups: new(groups),
		digests: new(syncmap.Map[string, string])}, nil
}

// resolved returns the options with the real paths of the directories.
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

// real returns the absolute path after resolving symbolic links.
func real(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// String returns the program with its version.
func (x *Executor) String() string { return x.kind + " " + x.version }

// Contained reports that jobs run in containers.
func (x *Executor) Contained() bool { return true }

// How describes how commands run, as a phrase after "the command runs".
func (x *Executor) How() string { return "in a container of " + x.kind }

// attemptLabel identifies the container of an attempt; jobLabel is for people.
const (
	attemptLabel = "batchctl.attempt"
	jobLabel     = "batchctl.job"
)

// handle identifies a container and the program that created it.
func (c client) handle(name string) string { return c.kind + " " + name }

// Owns reports whether a handle is that of a container.
func Owns(handle string) bool {
	kind, name, ok := strings.Cut(handle, " ")
	return ok && (kind == Docker || kind == Podman) && strings.HasPrefix(name, namePrefix)
}

// Remove kills and removes the container of an attempt, with the program in its handle. A container
// that does not exist is no error.
func Remove(id, handle string) error {
	if !Owns(handle) {
		return fmt.Errorf("invalid container handle %q", handle)
	}
	kind, _, _ := strings.Cut(handle, " ")
	return clearWith(kind, id)
}

// clearWith removes the container of an attempt with a program that may be missing.
func clearWith(kind, id string) error {
	c, err := find(kind)
	if err != nil {
		return err
	}
	return c.clear(id)
}

// clear removes the container of an attempt. It searches by label, so that it also finds the
// container of an engine that died before it could record the handle.
func (c client) clear(id string) error {
	list, err := c.quickly("ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+attemptLabel+"="+id)
	if err != nil {
		return fmt.Errorf("find the container of an earlier engine: %w", err)
	}
	for _, found := range strings.Fields(list) {
		err = errors.Join(err, c.remove(found))
	}
	return errors.Join(err, c.clearVolumes(id))
}

// Clear removes the container of an attempt, if it has one. It also clears attempts of an engine
// with another executor.
func (x *Executor) Clear(id, handle string) error { return x.options.clear(id, handle, &x.client) }

// clear ends the rest of an attempt of any executor: the program or process in its handle. Without
// a handle it uses own and the program in the attempt's note.
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

// attemptDir is an attempt's directory for files besides its container.
func (o Options) attemptDir(id string) string { return filepath.Join(o.Dir, "containers", id) }

// note records which program creates an attempt's container, for a later engine with another
// program if there is no handle yet.
func (o Options) note(id, kind string) error {
	if err := os.MkdirAll(o.attemptDir(id), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.attemptDir(id), kind), nil, 0o600)
}

// noted reports whether the note of an attempt names a program.
func (o Options) noted(id, kind string) bool {
	_, err := os.Stat(filepath.Join(o.attemptDir(id), kind))
	return err == nil
}

// forget removes the directory of an attempt.
func (o Options) forget(id string) error { return os.RemoveAll(o.attemptDir(id)) }

// Run creates a container, starts it with its output going to log, and removes it when it has
// ended.
func (x *Executor) Run(ctx context.Context, a attempt.Attempt, log *os.File) (exit int, err error) {
	defer func() { _ = x.options.forget(a.ID) }() // a directory that is left does no harm
	name := nameOf(a)
	create, err := x.creation(name, a)
	if err != nil {
		return -1, fmt.Errorf("CannotCreateContainerError: %w", err)
	}
	if ctx.Err() != nil {
		return -1, fmt.Errorf("CannotStartContainerError: %w", context.Cause(ctx))
	}
	err = x.options.note(a.ID, x.kind)
	if err == nil {
		err = x.createVolumes(ctx, a)
	}
	if err != nil {
		return -1, fmt.Errorf("CannotCreateContainerError: %w", err)
	}
	around, _ := x.groupAround(a)
	defer func() {
		defer removeGroup(around)
		switch left := x.remove(name); {
		case left == nil:
		case err == nil:
			err = fmt.Errorf("the container was not removed: %w", left)
		default:
			err = fmt.Errorf("%w; the container was not removed: %w", err, left)
		}
	}()
	if err := x.create(ctx, a, create); err != nil {
		return -1, err
	}
	if ctx.Err() != nil {
		return -1, fmt.Errorf("CannotStartContainerError: %w", context.Cause(ctx))
	}
	return x.carryOut(ctx, name, around, a, log)
}

// create creates the container, and pulls its image unless it exists locally. A local image is used
// unchanged, so that you can try an image before you push it. Until a.Kill, ctx does not interrupt
// the creation: a half-created container would be worse than an extra one.
func (x *Executor) create(ctx context.Context, a attempt.Attempt, create call) error {
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

// pull downloads an image with the user's login.
func (x *Executor) pull(ctx context.Context, image string) error {
	_, err := x.output(ctx, "pull", "--quiet", "--", image)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isWorkloads(image):
		return fmt.Errorf("%w; build the image of the shipped workloads with: make image PROGRAM=%s IMAGE=%s", err,
			x.kind, image)
	}
	return err
}

package sweep

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// commands runs the child's slice of a command list, and returns the exit code: 0, or
// that of the first line that failed.
func (c *Child) commands(ctx context.Context, s *Sweep, cell int, env environment) (exit int, err error) {
	list := s.List
	if list == "" {
		list = env.get(ListVariable)
	}
	lines := s.Lines
	if len(lines) == 0 && list != "" {
		text, err := c.read(ctx, list)
		if err != nil {
			return 0, err
		}
		lines = SplitLines(text)
	}
	from, to := Slice(len(lines), cell, s.Size)
	if from == to {
		c.say("no lines for child %d: the list has %d", cell, len(lines))
		return 0, nil
	}
	shell, err := env.lookPath("sh")
	if err != nil {
		return 0, err
	}
	r := runner{Child: c, shell: shell, env: env}
	keepGoing := s.KeepGoing || env.get(KeepGoingVariable) == "1"
	for i := from; i < to; i++ {
		if r.look(ctx); r.asked {
			c.say("asked to end: lines %d to %d are not run", i+1, to)
			if exit == 0 {
				exit = exitAsked
			}
			break
		}
		c.say("line %d of %d", i+1, len(lines))
		code, err := r.run(ctx, lines[i])
		if err != nil {
			return 0, err
		}
		if code == 0 {
			continue
		}
		c.say("line %d of %d failed with exit code %d", i+1, len(lines), code)
		if exit == 0 {
			exit = code
		}
		if !keepGoing {
			break
		}
	}
	return exit, nil
}

func (c *Child) say(format string, args ...any) {
	fmt.Fprintf(c.Stderr, "batchctl: "+format+"\n", args...)
}

// runner runs lines one after the other.
type runner struct {
	*Child
	shell string
	env   environment
	// asked is true once somebody wants the child to end.
	asked bool
}

// look takes note of a signal that came while no line ran.
func (r *runner) look(ctx context.Context) {
	select {
	case <-r.Signals:
		r.asked = true
	case <-ctx.Done():
		r.asked = true
	default:
	}
}

// run runs one line, and hands signals on to it.
func (r *runner) run(ctx context.Context, line string) (exit int, err error) {
	cmd := &exec.Cmd{Path: r.shell, Args: []string{"sh", "-c", "--", line}, Env: r.env, Stdout: r.Stdout, Stderr: r.Stderr}
	if err := cmd.Start(); err != nil {
		return 0, end(exitNotRun, "cannot run %s: %v", r.shell, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	canceled := ctx.Done()
	for {
		// A signal to a line that has just ended has nobody to reach: its error says no more.
		select {
		case err := <-ended:
			return exitCode(err)
		case s := <-r.Signals:
			r.asked = true
			_ = cmd.Process.Signal(s)
		case <-canceled:
			r.asked = true
			canceled = nil
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
}

// exitCode is what a shell makes of how a process ended.
func exitCode(err error) (int, error) {
	if err == nil {
		return 0, nil
	}
	failed, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0, err
	}
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitBySignal + int(status.Signal()), nil
	}
	return failed.ExitCode(), nil
}

package sweep

import (
	"context"
	"fmt"
)

// commands runs the child's slice of a command list. It returns the exit code of the first line that
// failed, or 0.
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
	shell, err := LookPath(env, "sh")
	if err != nil {
		return 0, err
	}
	r := runner{Child: c, shell: shell, env: env}
	keepGoing := s.KeepGoing || env.get(KeepGoingVariable) == "1"
	for i := from; i < to; i++ {
		if r.noteSignal(ctx); r.asked {
			c.say("asked to end: lines %d to %d are not run", i+1, to)
			if exit == 0 {
				exit = ExitAsked
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
	// asked is true after a request to stop the child.
	asked bool
}

// noteSignal sets asked if a signal came while no line ran.
func (r *runner) noteSignal(ctx context.Context) {
	select {
	case <-r.Signals:
		r.asked = true
	case <-ctx.Done():
		r.asked = true
	default:
	}
}

// run runs one line, and forwards signals to it.
func (r *runner) run(ctx context.Context, line string) (exit int, err error) {
	p := Process{Env: r.env, Stdout: r.Stdout, Stderr: r.Stderr, Signals: r.Signals}
	exit, asked, err := p.Run(ctx, r.shell, []string{"sh", "-c", "--", line})
	r.asked = r.asked || asked
	return exit, err
}

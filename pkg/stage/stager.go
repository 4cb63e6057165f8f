package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/batchctl/batchctl/pkg/sweep"
)

// The exit codes of a job whose program did not begin, or succeeded, and whose files did
// not arrive: EX_NOINPUT and EX_CANTCREAT of sysexits.h. Those of Ending come beside them.
const (
	ExitInputs  = 66
	ExitOutputs = 73
)

// every is how often it is said how far a long transfer is.
const every = 30 * time.Second

// Stager brings the inputs of a job, runs its program, and carries its outputs away.
type Stager struct {
	// Environ is the container's environment, as os.Environ has it; Variable is in it.
	Environ []string
	// Dir is the working directory, an absolute path.
	Dir     string
	Carrier Carrier
	// Exec replaces the process by the user's program, as syscall.Exec does: where there are
	// no outputs, nothing need stay between.
	Exec func(path string, argv, env []string) error
	// Signals are handed on to the program. While inputs are brought, one ends that.
	Signals <-chan os.Signal
	// Stdin, Stdout and Stderr are those of the program; files are handed over as they are.
	// What is to be said goes to Stderr.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	mu sync.Mutex // of what is said
}

// Failure is why a job is not well though its program may be: its exit code, and what to
// say.
type Failure struct {
	Exit int
	text string
}

func (f *Failure) Error() string { return f.text }

func failed(exit int, format string, args ...any) error {
	return &Failure{exit, fmt.Sprintf(format, args...)}
}

// Document is the job's, with everything expanded. Without Variable it is empty.
func (s *Stager) Document() (Document, error) {
	text, ok := s.look(Variable)
	if !ok || text == "" {
		return Document{Version: Version}, nil
	}
	d, err := Parse(text)
	if err == nil {
		d, err = d.Expanded(s.expansion, s.Dir)
	}
	if err != nil {
		return d, failed(sweep.ExitUsage, "%s: %s", Variable, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return d, nil
}

// look is a variable's value; of several of one name the last one holds.
func (s *Stager) look(name string) (value string, ok bool) {
	for _, variable := range s.Environ {
		if v, found := strings.CutPrefix(variable, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}

// Run is the whole of a job. It returns the exit code that the process is to end with, and
// the message if it did not come from the program: "batchctl: " goes before it. A program's
// own exit code that is not 0 stays, whatever becomes of the outputs.
func (s *Stager) Run(ctx context.Context, args []string) (exit int, err error) {
	exit, err = s.run(ctx, args)
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Exit, err
	}
	if e, ok := errors.AsType[*sweep.Ending](err); ok {
		return e.Exit, err
	}
	return exit, err
}

func (s *Stager) run(ctx context.Context, args []string) (int, error) {
	d, err := s.Document()
	if err != nil {
		return 0, err
	}
	if len(args) == 0 {
		return 0, failed(sweep.ExitUsage, "there is no program to run: batchctl stage -- PROGRAM ARGUMENT ...")
	}
	if err := s.In(ctx, d); err != nil {
		return 0, err
	}
	select {
	case sig := <-s.Signals: // after the inputs, before there is anybody to hand it to
		asked := &askedToEnd{sig}
		return 0, failed(asked.exit(), "%v: the program has not begun", asked)
	default:
	}
	if len(d.Outputs) == 0 {
		return 0, sweep.Become(s.Exec, args, s.Environ)
	}
	p := sweep.Process{Env: s.Environ, Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, Signals: s.Signals}
	exit, _, err := p.Command(ctx, args)
	if e, ok := errors.AsType[*sweep.Ending](err); ok {
		exit = e.Exit // its outputs "failure" and "always" are due all the same
	} else if err != nil {
		return 0, failed(sweep.ExitNotRun, "wait for %s: %v", args[0], err)
	}
	// What asked the program to end has not asked for its outputs to stay behind.
	outErr := s.Out(context.WithoutCancel(ctx), d, exit == 0)
	switch {
	case exit == 0:
		return 0, outErr
	case outErr != nil:
		s.say("%v", outErr)
	}
	return exit, err
}

// In brings all inputs, several at once. An input within another one's directory comes
// after it.
func (s *Stager) In(ctx context.Context, d Document) error {
	if len(d.Inputs) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := s.untilSignal(func(os.Signal) bool { return true }, cancel)
	defer stopped()

	done := make([]chan struct{}, len(d.Inputs))
	for i := range done {
		done[i] = make(chan struct{})
	}
	var moves []move
	for i, in := range d.Inputs {
		moves = append(moves, move{"input", Shown(in.From), strings.TrimSuffix(in.To, "/"), func(ctx context.Context) (Moved, error) {
			defer close(done[i])
			for j, outer := range d.Inputs {
				if i == j || !contains(outer.To, in.To) {
					continue
				}
				select {
				case <-done[j]:
				case <-ctx.Done():
					return Moved{}, context.Cause(ctx)
				}
			}
			return s.Carrier.Bring(ctx, in)
		}})
	}
	err := s.all(ctx, moves, cancel)
	if asked, ok := errors.AsType[*askedToEnd](context.Cause(ctx)); ok {
		return failed(asked.exit(), "%v: the inputs are not all there, and the program has not begun", asked)
	}
	if err != nil {
		return failed(ExitInputs, "%v", err)
	}
	return nil
}

// Out carries away the outputs that are due after this end of the program. All are tried,
// whatever becomes of one. SIGTERM does not end it: AWS Batch sends one, and SIGKILL half a
// minute later, which is time for something.
func (s *Stager) Out(ctx context.Context, d Document, success bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := s.untilSignal(func(sig os.Signal) bool {
		if sig == os.Interrupt {
			return true
		}
		s.say("%v: outputs are carried away as long as there is time", sig)
		return false
	}, cancel)
	defer stopped()
	var moves []move
	for _, out := range d.Outputs {
		if !out.Due(success) {
			continue
		}
		if _, err := os.Lstat(out.From); errors.Is(err, os.ErrNotExist) && !success {
			s.say("output %s is not there after this failure", out.From)
			continue
		}
		moves = append(moves, move{"output", out.From, Shown(out.To), func(ctx context.Context) (Moved, error) {
			return s.Carrier.Take(ctx, out)
		}})
	}
	if err := s.all(ctx, moves, nil); err != nil {
		return failed(ExitOutputs, "%v", err)
	}
	return nil
}

// askedToEnd is a signal as the cause of an end.
type askedToEnd struct{ signal os.Signal }

func (a *askedToEnd) Error() string { return a.signal.String() }

func (a *askedToEnd) exit() int {
	if number, ok := a.signal.(syscall.Signal); ok {
		return sweep.ExitBySignal + int(number)
	}
	return sweep.ExitAsked
}

// untilSignal ends a context at a signal that is to end it, until it is stopped itself.
func (s *Stager) untilSignal(ends func(os.Signal) bool, cancel context.CancelCauseFunc) (stop func()) {
	quit, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case sig := <-s.Signals:
				if ends(sig) {
					cancel(&askedToEnd{sig})
				}
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-over }
}

// move is one input or output on its way.
type move struct {
	what, from, to string
	do             func(ctx context.Context) (Moved, error)
}

// all makes moves at once, says what each came to, and what several come to now and then.
// If one fails the others are stopped where stop is given.
func (s *Stager) all(ctx context.Context, moves []move, stop context.CancelCauseFunc) error {
	if len(moves) == 0 {
		return nil
	}
	begin, before := time.Now(), s.Carrier.Carried()
	errs := make([]error, len(moves))
	var mu sync.Mutex
	left := len(moves)
	var wait sync.WaitGroup
	for i, m := range moves {
		wait.Go(func() {
			moved, err := m.do(ctx)
			took := time.Since(begin)
			mu.Lock()
			left--
			mu.Unlock()
			if err == nil {
				s.say("%s %s -> %s: %s", m.what, m.from, m.to, Describe(moved, took))
				return
			}
			if stop != nil {
				if ctx.Err() != nil {
					return // for the failure of another one
				}
				stop(err)
			}
			errs[i] = fmt.Errorf("%s %s -> %s: %w", m.what, m.from, m.to, err)
		})
	}
	ended := make(chan struct{})
	go func() { wait.Wait(); close(ended) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return join(errs)
		case <-tick.C:
			mu.Lock()
			n := left
			mu.Unlock()
			took := time.Since(begin)
			bytes := s.Carrier.Carried() - before
			s.say("%d of %d %ss on the way: %s so far in %s, %s", n, len(moves), moves[0].what, Size(bytes), seconds(took), rate(bytes, took))
		}
	}
}

// join is errors as one line, so that a log shows them whole.
func join(errs []error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}

func (s *Stager) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.Stderr, "batchctl: %s\n", printable(fmt.Sprintf(format, args...)))
}

package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/text"
)

// The exit codes of a job whose files could not be staged, although its program did not start or
// succeeded: EX_NOINPUT and EX_CANTCREAT of sysexits.h. See also Ending.
const (
	ExitInputs  = 66
	ExitOutputs = 73
)

// every is how often progress of a long transfer is printed.
const every = 30 * time.Second

// Stager downloads the inputs of a job, runs its program, and uploads its outputs.
type Stager struct {
	// Environ is the container's environment in the form of os.Environ; it has Variable.
	Environ []string
	// Dir is the working directory, an absolute path.
	Dir string
	// Carrier copies the files.
	Carrier Transferer
	// Exec replaces the process by the user's program, as syscall.Exec does. It is used if there
	// are no outputs.
	Exec func(path string, argv, env []string) error
	// Signals are forwarded to the program. During the download of inputs, a signal ends it.
	Signals <-chan os.Signal
	// TaskID returns the id of the container's task from the metadata endpoint of Amazon ECS. It is called only if a
	// location names the id of an AWS Batch job and there is none. Nil means that no endpoint is asked.
	TaskID func(endpoint string) (string, error)
	// Checkpoints stores the checkpoints of a job that has some.
	Checkpoints CheckpointStore
	// Reclaim returns the notice that this machine will be taken away, or "" when ctx ends or there can be none. Nil means
	// that SIGTERM is the only notice.
	Reclaim func(ctx context.Context) string
	// Stdin, Stdout and Stderr are those of the program; files are passed on directly. Messages of
	// the Stager go to Stderr.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	mu   sync.Mutex // of messages
	task string     // the id of the ECS task, if it was asked for
}

// Failure is an error of staging: its exit code and message.
type Failure struct {
	Exit int
	text string
}

// Error is the message.
func (f *Failure) Error() string { return f.text }

// failed returns a Failure.
func failed(exit int, format string, args ...any) error {
	return &Failure{exit, fmt.Sprintf(format, args...)}
}

// Document returns the job's document, expanded. Without Variable it is empty.
func (s *Stager) Document() (Document, error) {
	text, ok := s.variable(Variable)
	if !ok || text == "" {
		return Document{Version: Version}, nil
	}
	d, err := Parse(text)
	if err == nil {
		err = s.findTask(&d)
	}
	if err == nil {
		d, err = d.Expanded(s.expansion, s.Dir)
	}
	if err != nil {
		return d, failed(sweep.ExitUsage, "%s: %s", Variable, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return d, nil
}

// variable returns a variable's value; the last one of a name counts.
func (s *Stager) variable(name string) (value string, ok bool) {
	for _, variable := range s.Environ {
		if v, found := strings.CutPrefix(variable, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}

// Run downloads the inputs, runs the program and uploads the outputs. It returns the exit code for
// the process, and an error if the failure did not come from the program; the caller prints it
// after "batchctl: ". If the program's exit code is not 0, it is kept, whether or not the outputs
// can be uploaded.
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

// run is Run with all failures as errors.
func (s *Stager) run(ctx context.Context, args []string) (int, error) {
	d, err := s.Document()
	if err != nil {
		return 0, err
	}
	if len(args) == 0 {
		return 0, failed(sweep.ExitUsage, "there is no program to run: use batchctl stage -- PROGRAM ARGUMENT ...")
	}
	if err := s.In(ctx, d); err != nil {
		return 0, err
	}
	select {
	case sig := <-s.Signals: // after the inputs, before the program could receive it
		asked := &askedToEnd{sig}
		return 0, failed(asked.exit(), "%v: the program was not started", asked)
	default:
	}
	k, err := s.keep(ctx, d.Checkpoint)
	if err != nil {
		return 0, err
	}
	if len(d.Outputs) == 0 && k == nil {
		return 0, sweep.Become(s.Exec, args, s.Environ)
	}
	p := sweep.Process{Env: s.Environ, Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, Signals: s.Signals}
	if k != nil {
		p.Env, p.Signals = k.environ, k.signals
		s.begin(ctx, k)
	}
	exit, _, err := p.Command(ctx, args)
	if k != nil {
		k.end()
	}
	if e, ok := errors.AsType[*sweep.Ending](err); ok {
		exit = e.Exit // its outputs "failure" and "always" are still due
	} else if err != nil {
		return 0, failed(sweep.ExitNotRun, "wait for %s: %v", args[0], err)
	}
	if exit != 0 {
		s.last(ctx, k)
	}
	// A signal that ended the program does not cancel its outputs.
	outErr := s.Out(context.WithoutCancel(ctx), d, exit == 0)
	switch {
	case exit == 0:
		if outErr != nil {
			s.last(ctx, k) // the next attempt has to upload them
		}
		return 0, outErr
	case outErr != nil:
		s.say("%v", outErr)
	}
	return exit, err
}

// In downloads all inputs, several concurrently. An input inside the directory of another comes
// after it.
func (s *Stager) In(ctx context.Context, d Document) error {
	if len(d.Inputs) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := s.untilSignal(func(os.Signal) bool { return true }, cancel)
	defer stopped()

	// done[i] is closed when input i has ended, also after an error.
	done := make([]chan struct{}, len(d.Inputs))
	for i := range done {
		done[i] = make(chan struct{})
	}
	var moves []move
	for i, in := range d.Inputs {
		moves = append(moves, move{"input", Shown(in.From), strings.TrimSuffix(in.To, "/"), s.inputName(in),
			func(ctx context.Context) (Moved, error) {
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
				return s.Carrier.Download(ctx, in)
			}})
	}
	err := s.all(ctx, moves, cancel)
	if asked, ok := errors.AsType[*askedToEnd](context.Cause(ctx)); ok {
		return failed(asked.exit(), "%v: some inputs are missing, so the program was not started", asked)
	}
	if err != nil {
		return failed(ExitInputs, "%v", err)
	}
	return nil
}

// Out uploads the outputs that are due after this outcome of the program. It tries all of them,
// even if one fails. SIGTERM does not stop it: AWS Batch sends SIGKILL half a minute later, which
// leaves time for some.
func (s *Stager) Out(ctx context.Context, d Document, success bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := s.untilSignal(func(sig os.Signal) bool {
		if sig == os.Interrupt {
			return true
		}
		s.say("%v: uploading the outputs while there is time", sig)
		return false
	}, cancel)
	defer stopped()
	var moves []move
	var missing []error
	for _, out := range d.Outputs {
		if !out.Due(success) {
			continue
		}
		name := s.shortPath(out.From)
		if _, err := os.Lstat(out.From); errors.Is(err, os.ErrNotExist) {
			if success {
				missing = append(missing, errors.New("output "+name+NotCreated))
			} else {
				s.say("after this failure, output %s does not exist", name)
			}
			continue
		}
		if out.Local == "" {
			name = "" // the user chose the location
		}
		moves = append(moves, move{"output", out.From, Shown(out.To), name, func(ctx context.Context) (Moved, error) {
			return s.Carrier.Upload(ctx, out)
		}})
	}
	if err := join(append(missing, s.all(ctx, moves, nil))); err != nil {
		return failed(ExitOutputs, "%v", err)
	}
	return nil
}

// NotCreated follows the path of an output in the message that the program did not create it.
const NotCreated = " was not created"

// stagedName is the name of a local file or directory at the staging location: its hash.
var stagedName = regexp.MustCompile(`/[0-9a-f]{64}(\.[a-z]+)?$`)

// inputName returns how messages name an input whose location says nothing to a reader; "" for another.
func (s *Stager) inputName(in Input) string {
	if !stagedName.MatchString(filepath.ToSlash(in.From)) {
		return ""
	}
	return s.shortPath(strings.TrimSuffix(in.To, "/"))
}

// shortPath returns a path relative to the working directory, if it is below that.
func (s *Stager) shortPath(path string) string {
	if rel, err := filepath.Rel(s.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// askedToEnd is a signal as the cause of an end.
type askedToEnd struct{ signal os.Signal }

// Error names the signal.
func (a *askedToEnd) Error() string { return a.signal.String() }

// exit is the exit code that a shell gives to the signal.
func (a *askedToEnd) exit() int {
	if number, ok := a.signal.(syscall.Signal); ok {
		return sweep.ExitBySignal + int(number)
	}
	return sweep.ExitAsked
}

// untilSignal cancels a context at a signal for which ends returns true, until stop is called.
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

// move is one input or output in progress.
type move struct {
	what, from, to string
	// name replaces from and to in the message of success, if it is not empty.
	name string
	do   func(ctx context.Context) (Moved, error)
}

// all runs moves concurrently. It prints the result of each, and the total progress from time to
// time. If one fails, it cancels the others where stop is given.
func (s *Stager) all(ctx context.Context, moves []move, stop context.CancelCauseFunc) error {
	if len(moves) == 0 {
		return nil
	}
	begin, before := time.Now(), s.Carrier.Transferred()
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
				if m.name != "" {
					s.say("%s %s, %s", m.what, m.name, describeShort(moved, took))
				} else {
					s.say("%s %s -> %s: %s", m.what, m.from, m.to, Describe(moved, took))
				}
				return
			}
			if stop != nil {
				if ctx.Err() != nil {
					return // canceled because another one failed
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
			bytes := s.Carrier.Transferred() - before
			s.say("%d of %d %ss in progress: %s so far in %s, %s", n, len(moves), moves[0].what, text.Size(bytes),
				seconds(took), rate(bytes, took))
		}
	}
}

// join returns errors as one line, so that a log shows them completely.
func join(errs []error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// say prints one line. It may be called concurrently.
func (s *Stager) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.Stderr, "batchctl: %s\n", diag.Printable(fmt.Sprintf(format, args...)))
}

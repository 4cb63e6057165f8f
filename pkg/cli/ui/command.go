package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/target"
)

// ask returns what a command prints that only reads. The answer may be as old as age; concurrent requests share one.
func (c *commander) ask(ctx context.Context, age time.Duration, args ...string) ([]byte, error) {
	key := strings.Join(args, "\x00")
	c.mu.Lock()
	a := c.known[key]
	if a == nil || time.Since(a.begun) > age {
		a = &answer{begun: time.Now(), done: make(chan struct{})}
		c.forget()
		c.known[key] = a
		go c.fill(a, args)
	}
	c.mu.Unlock()
	select {
	case <-a.done:
		return a.out, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// forget drops the oldest answer if there are too many. The caller holds the lock.
func (c *commander) forget() {
	if len(c.known) < answersKept {
		return
	}
	oldest, at := "", time.Now()
	for key, a := range c.known {
		if a.begun.Before(at) {
			oldest, at = key, a.begun
		}
	}
	delete(c.known, oldest)
}

// fill runs the command of an answer.
func (c *commander) fill(a *answer, args []string) {
	defer close(a.done)
	defer func() {
		if p := recover(); p != nil { // the other pages must live on
			a.err = fmt.Errorf("internal error in %s: %v", c.line(args...), p)
		}
	}()
	ctx, cancel := context.WithTimeout(c.base, commandPatience)
	defer cancel()
	var out bytes.Buffer
	a.notes, a.err = c.stream(ctx, strings.NewReader(""), &out, args...)
	a.out = out.Bytes()
}

// stream runs a command. It returns what the command wrote to standard error, or a *commandError.
func (c *commander) stream(ctx context.Context, in io.Reader, out io.Writer, args ...string) (notes string, err error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return c.unlimited(ctx, in, out, args...)
}

// unlimited is stream for a command that lasts, such as a log that is followed.
func (c *commander) unlimited(ctx context.Context, in io.Reader, out io.Writer, args ...string) (notes string, err error) {
	var messages bytes.Buffer
	// The flags come before the arguments: after "--", they would be arguments.
	line := append([]string{"batchctl", args[0]}, append(append([]string{}, c.flags...), args[1:]...)...)
	status := c.run(ctx, line, term.Streams{In: in, Out: out, Err: &messages})
	text := messages.String()
	if status == 0 {
		return text, nil
	}
	return text, newCommandError(status, text)
}

// newCommandError returns the error of a command with this standard error. Its message begins with the program's name,
// and the hint follows on the next line.
func newCommandError(status int, text string) *commandError {
	e := &commandError{Status: status}
	_, message, found := strings.Cut("\n"+text, "\nbatchctl: ")
	if !found {
		e.Message = strings.TrimSpace(text)
		return e
	}
	e.Message, e.Hint, _ = strings.Cut(strings.TrimSpace(message), "\n")
	e.Hint = strings.TrimSpace(e.Hint)
	return e
}

// askJSON decodes what a command prints as JSON.
func askJSON[T any](ctx context.Context, c *commander, age time.Duration, args ...string) (v T, err error) {
	out, err := c.ask(ctx, age, args...)
	if err != nil {
		return v, err
	}
	return decodeAnswer[T](c, out, args)
}

// decodeAnswer decodes what a command printed.
func decodeAnswer[T any](c *commander, out []byte, args []string) (v T, err error) {
	if err := json.Unmarshal(out, &v); err != nil {
		return v, fmt.Errorf("%s: %w", c.line(args...), err)
	}
	return v, nil
}

// changed is the exit status of commands that compare, such as plan, diff and apply --check, if something differs.
const changed = 4

// askDiffer is askJSON for a command that compares. A difference is no failure.
func askDiffer[T any](ctx context.Context, c *commander, age time.Duration, args ...string) (v T, err error) {
	out, err := c.ask(ctx, age, args...)
	if failed, ok := errors.AsType[*commandError](err); ok && failed.Status == changed {
		err = nil
	}
	if err != nil {
		return v, err
	}
	return decodeAnswer[T](c, out, args)
}

// Run runs a command line of batchctl, which begins with the program's name, and returns the exit status.
type Run func(ctx context.Context, args []string, s term.Streams) int

const (
	// commandsAtOnce limits the commands that run at one time. A cloud target has one request rate for all of them.
	commandsAtOnce = 4
	// commandPatience limits a command that only reads.
	commandPatience = 2 * time.Minute
	// answersKept is how many answers are kept for the next request.
	answersKept = 64
)

// commander runs commands for pages. It is safe for concurrent use.
type commander struct {
	run   Run
	flags []string // of the target, for every command
	// base ends with the server. A command does not end with the request that began it, because others wait for
	// the same answer.
	base context.Context
	turn chan struct{}

	mu    sync.Mutex
	known map[string]*answer
}

// answer is what a command printed.
type answer struct {
	begun time.Time
	done  chan struct{} // closed when the other members are set
	out   []byte
	notes string // standard error of a command that succeeded
	err   error
}

// commandError is a command that failed.
type commandError struct {
	Status int
	// Message and Hint are the lines that the command printed.
	Message, Hint string
}

// Error returns the message.
func (e *commandError) Error() string { return e.Message }

// newCommander returns a commander for the target of these options.
func newCommander(base context.Context, run Run, o target.Options) *commander {
	return &commander{run: run, flags: targetFlags(o), base: base, turn: make(chan struct{}, commandsAtOnce), known: map[string]*answer{}}
}

// targetFlags returns the flags that select a target.
func targetFlags(o target.Options) (flags []string) {
	for _, f := range []struct{ name, value string }{{"platform", o.Platform}, {"target", o.Name}, {"state-dir", o.StateDir}, {"profile", o.Profile},
		{"region", o.Region}, {"endpoint-url", o.EndpointURL}} {
		if f.value != "" {
			flags = append(flags, "--"+f.name, f.value)
		}
	}
	return flags
}

// line returns a command as users type it.
func (c *commander) line(args ...string) string {
	words := []string{"batchctl"}
	for _, arg := range append(args, c.flags...) {
		words = append(words, term.Quoted(arg))
	}
	return strings.Join(words, " ")
}

// equivalent returns a command for a terminal: with a file in place of standard input, and the usual output.
func equivalent(c *commander, args ...string) string {
	line := slices.Clone(args)
	for i, arg := range line {
		if arg == "-" {
			line[i] = "job.json"
		}
	}
	if i := slices.Index(line, "--output"); i >= 0 {
		line = slices.Delete(line, i, i+2)
	}
	return shown(c.line(line...))
}

package source

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
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/target"
)

// Ask returns what a command prints that only reads. The answer may be as old as age; concurrent requests share one.
func (c *Commander) Ask(ctx context.Context, age time.Duration, args ...string) ([]byte, error) {
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
func (c *Commander) forget() {
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
func (c *Commander) fill(a *answer, args []string) {
	defer close(a.done)
	defer func() {
		if p := recover(); p != nil { // the other pages must live on
			a.err = fmt.Errorf("internal error in %s: %v", c.Line(args...), p)
		}
	}()
	ctx, cancel := context.WithTimeout(c.Base, CommandPatience)
	defer cancel()
	var out bytes.Buffer
	a.notes, a.err = c.Stream(ctx, strings.NewReader(""), &out, args...)
	a.out = out.Bytes()
}

// Stream runs a command. It returns what the command wrote to standard error, or a *CommandError.
func (c *Commander) Stream(ctx context.Context, in io.Reader, out io.Writer, args ...string) (notes string, err error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
		// The end of the server reaches waiting commands one after the other, and a running one that it has
		// reached may pass its turn on before.
		if c.Base.Err() != nil {
			return "", context.Cause(c.Base)
		}
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return c.Follow(ctx, in, out, args...)
}

// Follow is Stream for a command that lasts, such as a log that is followed.
func (c *Commander) Follow(ctx context.Context, in io.Reader, out io.Writer, args ...string) (notes string, err error) {
	var messages bytes.Buffer
	// The flags come before the arguments: after "--", they would be arguments.
	line := append([]string{"batchctl", args[0]}, append(c.flagsFor(args[0]), args[1:]...)...)
	status := c.run(ctx, line, term.Streams{In: in, Out: out, Err: &messages})
	text := messages.String()
	if status == 0 {
		return text, nil
	}
	return text, newCommandError(status, text)
}

// newCommandError returns the error of a command with this standard error. Its message begins with the program's name,
// and the hint follows on the next line.
func newCommandError(status int, text string) *CommandError {
	e := &CommandError{Status: status}
	_, message, found := strings.Cut("\n"+text, "\nbatchctl: ")
	if !found {
		e.Message = strings.TrimSpace(text)
		return e
	}
	e.Message, e.Hint, _ = strings.Cut(strings.TrimSpace(message), "\n")
	e.Hint = strings.TrimSpace(e.Hint)
	return e
}

// AskJSON decodes what a command prints as JSON.
func AskJSON[T any](ctx context.Context, c *Commander, age time.Duration, args ...string) (v T, err error) {
	out, err := c.Ask(ctx, age, args...)
	if err != nil {
		return v, err
	}
	return decodeAnswer[T](c, out, args)
}

// decodeAnswer decodes what a command printed.
func decodeAnswer[T any](c *Commander, out []byte, args []string) (v T, err error) {
	if err := json.Unmarshal(out, &v); err != nil {
		return v, fmt.Errorf("%s: %w", c.Line(args...), err)
	}
	return v, nil
}

// Changed is the exit status of commands that compare, such as plan, diff and apply --check, if something differs.
const Changed = 4

// AskDiffer is AskJSON for a command that compares. A difference is no failure.
func AskDiffer[T any](ctx context.Context, c *Commander, age time.Duration, args ...string) (v T, err error) {
	out, err := c.Ask(ctx, age, args...)
	if failed, ok := errors.AsType[*CommandError](err); ok && failed.Status == Changed {
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
	// CommandPatience limits a command that only reads.
	CommandPatience = 2 * time.Minute
	// answersKept is how many answers are kept for the next request.
	answersKept = 64
)

// Commander runs commands for pages. It is safe for concurrent use.
type Commander struct {
	run   Run
	flags [][2]string // of the target: names and values
	// HasFlag reports whether a command has a flag, by their names. Nil means that every command has each.
	HasFlag func(command, flag string) bool
	// Instead answers in place of the functions of the commands; nil outside of tests.
	Instead Instead
	// Base ends with the server. A command does not end with the request that began it, because others wait for
	// the same answer.
	Base context.Context
	turn chan struct{}

	mu    sync.Mutex
	known map[string]*answer
}

// Instead answers a command with these words: it fills the document that a pointer points to, or passes the lines of a
// log to a function.
type Instead func(ctx context.Context, con *term.Console, words []string, document any) error

// answer is what a command printed.
type answer struct {
	document any
	begun    time.Time
	done     chan struct{} // closed when the other members are set
	out      []byte
	notes    string // standard error of a command that succeeded
	err      error
}

// CommandError is a command that failed.
type CommandError struct {
	Status int
	// Message and Hint are the lines that the command printed.
	Message, Hint string
}

// Error returns the message.
func (e *CommandError) Error() string { return e.Message }

// newCommander returns a commander for the target of these options.
func newCommander(base context.Context, run Run, o target.Options) *Commander {
	return &Commander{run: run, flags: targetFlags(o), Base: base, turn: make(chan struct{}, commandsAtOnce),
		known: map[string]*answer{}}
}

// targetFlags returns the flags that select a target.
func targetFlags(o target.Options) (flags [][2]string) {
	for _, f := range [][2]string{{"platform", o.Platform}, {"target", o.Name}, {"state-dir", o.StateDir},
		{"profile", o.Profile},
		{"region", o.Region}, {"endpoint-url", o.EndpointURL}} {
		if f[1] != "" {
			flags = append(flags, f)
		}
	}
	return flags
}

// flagsFor returns the flags of the target that a command has: validate, for example, asks no target.
func (c *Commander) flagsFor(command string) (line []string) {
	for _, f := range c.flags {
		if c.HasFlag == nil || c.HasFlag(command, f[0]) {
			line = append(line, "--"+f[0], f[1])
		}
	}
	return line
}

// Line returns a command as users type it.
func (c *Commander) Line(args ...string) string {
	words := []string{"batchctl"}
	for _, arg := range slices.Concat(args, c.flagsFor(args[0])) {
		words = append(words, term.Quoted(arg))
	}
	return strings.Join(words, " ")
}

// Equivalent returns a command for a terminal: with a file in place of standard input, and the usual output.
func Equivalent(c *Commander, args ...string) string {
	line := slices.Clone(args)
	for i, arg := range line {
		if arg == "-" {
			line[i] = "job.json"
		}
	}
	if i := slices.Index(line, "--output"); i >= 0 {
		line = slices.Delete(line, i, i+2)
	}
	return show.Text(c.Line(line...))
}

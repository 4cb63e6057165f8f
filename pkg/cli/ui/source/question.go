package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/exit"
)

// Question is a command whose document a page shows.
type Question[T any] struct {
	// Words are the command as users type it, without the program's name and the flags of the target. Two questions with
	// the same words have the same answer.
	Words []string
	// Run is the function of the command. It gets a console for messages, and for the text of a file "-".
	Run func(ctx context.Context, con *term.Console) (T, error)
}

// Ask returns the document of a command that only reads, without credentials. It may be as old as age; concurrent
// requests share one, so no page may change it. The error of a command that failed is an *exit.Failure; its document may
// have a part of the answer.
func Ask[T any](ctx context.Context, c *Commander, age time.Duration, q Question[T]) (T, error) {
	document, err := c.shared(ctx, age, q.Words, func(ctx context.Context) (any, error) {
		document, _, err := Do(ctx, c, "", q)
		return document, err
	})
	v, _ := document.(T) // nil if there is no answer
	return v, err
}

// Do runs a command for one request, and returns its document without credentials. in is its standard input, and notes
// are its messages.
func Do[T any](ctx context.Context, c *Commander, in string, q Question[T]) (document T, notes string, err error) {
	end, err := c.begin(ctx)
	if err != nil {
		return document, "", err
	}
	defer end()
	if c.Instead != nil {
		words := q.Words
		q.Run = func(ctx context.Context, con *term.Console) (document T, err error) {
			err = c.Instead(ctx, con, words, &document)
			return document, err
		}
	}
	return run(ctx, c, in, q)
}

// FollowLog passes the lines of logs to each, with their credentials. Unlike Do, it may run beside any number of
// others, because a log that is followed lasts.
func FollowLog(ctx context.Context, c *Commander, words []string, o jobs.LogOptions,
	each func(client.Line) error) error {
	_, _, err := run(ctx, c, "", Question[struct{}]{words, func(ctx context.Context, con *term.Console) (struct{}, error) {
		if c.Instead != nil {
			return struct{}{}, c.Instead(ctx, con, words, each)
		}
		return struct{}{}, jobs.Logs(ctx, con, o, each)
	}})
	return err
}

// Printed returns what a function prints to standard output.
func Printed(con *term.Console, printTo func(*term.Console) error) (string, error) {
	var out bytes.Buffer
	to := *con
	to.Out = &out
	err := printTo(&to)
	return out.String(), err
}

// begin waits until one more command may run. The caller calls end after it.
func (c *Commander) begin(ctx context.Context) (end func(), err error) {
	select {
	case c.turn <- struct{}{}:
		// The end of the server reaches waiting commands one after the other, and a running one that it has
		// reached may pass its turn on before.
		if c.Base.Err() != nil {
			<-c.turn
			return nil, context.Cause(c.Base)
		}
		return func() { <-c.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run runs a command.
func run[T any](ctx context.Context, c *Commander, in string, q Question[T]) (document T, notes string, err error) {
	var messages bytes.Buffer
	con := &term.Console{Streams: term.Streams{In: strings.NewReader(in), Out: io.Discard,
		Err: term.MaskedWriter{Writer: &messages}}}
	document, err = q.Run(ctx, con)
	document, failed := term.Masked(document)
	notes = messages.String()
	// A command that was interrupted without an error of its own did not finish either.
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = context.Cause(ctx)
	}
	if err = failureOf(con, err, notes); err == nil {
		err = failed
	}
	return document, notes, err
}

// failureOf returns the error of a command that failed, without credentials. notes are the messages of a command whose
// error has no message, because it has printed what is wrong. A difference that a command found is no failure.
func failureOf(con *term.Console, err error, notes string) error {
	if err == nil {
		return nil
	}
	f := input.FailureOf(err)
	if f.Code == exit.Change {
		return nil
	}
	shown := exit.Fail(f.Code, "%s", con.Redacted(f.Message))
	if f.Message == "" {
		shown.Message = strings.TrimSpace(notes)
	}
	if f.Hint != "" {
		return shown.Try("%s", con.Redacted(f.Hint))
	}
	return shown
}

// shared returns the answer to a question, from an earlier one that is not older than age.
func (c *Commander) shared(ctx context.Context, age time.Duration, words []string,
	read func(context.Context) (any, error)) (any, error) {
	key := strings.Join(words, "\x00")
	c.mu.Lock()
	a := c.known[key]
	if a == nil || time.Since(a.begun) > age {
		a = &answer{begun: time.Now(), done: make(chan struct{})}
		c.forget()
		c.known[key] = a
		go c.fill(a, words, read)
	}
	c.mu.Unlock()
	select {
	case <-a.done:
		return a.document, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// fill reads an answer.
func (c *Commander) fill(a *answer, words []string, read func(context.Context) (any, error)) {
	defer close(a.done)
	defer func() {
		if p := recover(); p != nil { // the other pages must live on
			a.err = fmt.Errorf("internal error in %s: %v", c.Line(words...), p)
		}
	}()
	ctx, cancel := context.WithTimeout(c.Base, CommandPatience)
	defer cancel()
	a.document, a.err = read(ctx)
}

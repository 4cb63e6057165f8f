package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/submit"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/client/once"
)

// errReadOnly is the error for a change without --allow-changes.
var errReadOnly = errors.New("these pages change nothing; restart batchctl ui with --allow-changes")

// request is what a page wants to change.
type request struct {
	// Job is the id of a job or a submission, for stop, retry and replay.
	Job string
	// Submission reports that Job is the id of a submission.
	Submission bool
	// Text is the job file to submit.
	Text string
	// Only asks for the command, without running it: the page shows it before you confirm.
	Only bool
}

// done is the answer about a change.
type done struct {
	Command string
	// Output and Notes are what the command printed.
	Output, Notes string
	// Failed is why the command failed; Hint is the next step.
	Failed, Hint string
	// Jobs are the submitted jobs.
	Jobs []string
}

// actions run the commands that change something.
type actions struct {
	*source.Source
	allowed bool // --allow-changes
}

// routes are the addresses of the group.
func (s *actions) routes() page.Routes {
	return page.Routes{
		Data: map[string]func(*http.Request) (any, error){
			"POST /actions/{action}": s.act,
		},
	}
}

// act runs a command that changes something. The command keeps the ledger, as it does in a terminal.
func (s *actions) act(r *http.Request) (any, error) {
	if !s.allowed {
		return nil, page.BadRequest(errReadOnly)
	}
	var in request
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, page.BadRequest(err)
	}
	c, err := s.changeOf(r.PathValue("action"), in)
	if err != nil {
		return nil, err
	}
	answer := done{Command: source.Equivalent(s.Commands, c.words...)}
	if in.Only {
		return answer, nil
	}
	// A change is finished even if the browser has left: a submission that stopped half-way would have to be resumed.
	output, notes, err := c.run(s.Commands.Base)
	answer.Output, answer.Notes, answer.Jobs = show.Lines(output), show.Lines(notes), c.jobs
	if err != nil {
		p := page.ProblemOf(err)
		answer.Failed, answer.Hint = p.Message, p.Hint
	}
	return answer, nil
}

// change is a command that changes something.
type change struct {
	words []string
	run   func(ctx context.Context) (output, notes string, err error)
	// jobs are the ids of the submitted jobs, after run.
	jobs []string
}

// changeOf returns the command of a change.
func (s *actions) changeOf(action string, in request) (*change, error) {
	switch {
	case action == "submit" && strings.TrimSpace(in.Text) == "":
		return nil, page.BadRequest(errors.New("there is nothing to submit: the text is empty"))
	case action == "submit":
		o := submit.SubmitOptions{Settle: once.DefaultSettle, When: true}
		o.Given, o.Target, o.Format = s.About("submit", "-").Given, s.Options.Target, "json"
		return s.submission(in.Text, []string{"submit", "-"},
			func(ctx context.Context, con *term.Console) ([]submit.SubmittedRow, error) {
				return submit.Submit(ctx, con, o)
			}), nil
	case !slices.Contains([]string{"stop", "retry", "replay"}, action):
		return nil, page.ErrNotFound
	case in.Job == "" || strings.HasPrefix(in.Job, "-"):
		return nil, page.BadRequest(errors.New("name a job"))
	}
	about, words := s.About(action, in.Job), []string{action, in.Job}
	if in.Submission && action != "replay" {
		about, words = s.About(action), []string{action, "--submission", in.Job}
		about.Submission = in.Job
	}
	switch action {
	case "replay":
		o := submit.ReplayOptions{Given: about.Given, Target: about.Target}
		return &change{words: words, run: func(ctx context.Context) (string, string, error) {
			return source.Do(ctx, s.Commands, "", source.Question[string]{Words: words,
				Run: func(ctx context.Context, con *term.Console) (string, error) {
					return source.Printed(con, func(con *term.Console) error { return submit.Replay(ctx, con, o) })
				}})
		}}, nil
	case "retry":
		o := submit.RetryOptions{Options: about, Settle: once.DefaultSettle, When: true}
		o.Format = "json"
		return s.submission("", words, func(ctx context.Context, con *term.Console) ([]submit.SubmittedRow, error) {
			return submit.Retry(ctx, con, o)
		}), nil
	}
	o := jobs.DefaultStop()
	o.Options = about
	return &change{words: words, run: func(ctx context.Context) (string, string, error) {
		rows, notes, err := source.Do(ctx, s.Commands, "", source.Question[[]jobs.StopRow]{Words: words,
			Run: func(ctx context.Context, con *term.Console) ([]jobs.StopRow, error) {
				return jobs.Stop(ctx, con, o)
			}})
		return jobs.StopText(rows), notes, err
	}}, nil
}

// submission is a change that submits jobs.
func (s *actions) submission(in string, words []string,
	run func(context.Context, *term.Console) ([]submit.SubmittedRow, error)) *change {
	c := &change{words: words}
	c.run = func(ctx context.Context) (string, string, error) {
		rows, notes, err := source.Do(ctx, s.Commands, in, source.Question[[]submit.SubmittedRow]{Words: words, Run: run})
		for _, row := range rows {
			c.jobs = append(c.jobs, row.ID)
		}
		if rows == nil {
			return "", notes, err
		}
		text, failed := term.JSONText(rows)
		return string(text), notes, cmp.Or(err, failed)
	}
	return c
}

package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
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
	args, err := commandOf(r.PathValue("action"), in)
	if err != nil {
		return nil, err
	}
	answer := done{Command: source.Equivalent(s.Commands, args...)}
	if in.Only {
		return answer, nil
	}
	// A change is finished even if the browser has left: a submission that stopped half-way would have to be resumed.
	var out bytes.Buffer
	notes, err := s.Commands.Stream(s.Commands.Base, strings.NewReader(in.Text), &out, args...)
	answer.Output, answer.Notes = show.Lines(out.String()), show.Lines(notes)
	if err != nil {
		p := page.ProblemOf(err)
		answer.Failed, answer.Hint = p.Message, p.Hint
	}
	if args[0] == "submit" || args[0] == "retry" {
		var jobs []struct{ ID string }
		if json.Unmarshal(out.Bytes(), &jobs) == nil {
			for _, j := range jobs {
				answer.Jobs = append(answer.Jobs, j.ID)
			}
		}
	}
	return answer, nil
}

// commandOf returns the command of a change.
func commandOf(action string, in request) ([]string, error) {
	named := []string{in.Job}
	if in.Submission {
		named = []string{"--submission", in.Job}
	}
	switch {
	case action == "submit" && strings.TrimSpace(in.Text) == "":
		return nil, page.BadRequest(errors.New("there is nothing to submit: the text is empty"))
	case action == "submit":
		return []string{"submit", "-", "--output", "json"}, nil
	case !slices.Contains([]string{"stop", "retry", "replay"}, action):
		return nil, page.ErrNotFound
	case in.Job == "" || strings.HasPrefix(in.Job, "-"):
		return nil, page.BadRequest(errors.New("name a job"))
	case action == "replay":
		return []string{"replay", in.Job}, nil
	case action == "retry":
		return append([]string{"retry"}, append(named, "--output", "json")...), nil
	}
	return append([]string{"stop"}, named...), nil
}

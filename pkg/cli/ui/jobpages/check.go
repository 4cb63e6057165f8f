package jobpages

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
)

// Check checks a job file that you type.
type Check struct{ *source.Source }

// Routes are the addresses of the group.
func (s *Check) Routes() page.Routes {
	return page.Routes{
		Pages: map[string]func(*http.Request) (page.Page, error){
			"/check": s.checkPage,
		},
		Data: map[string]func(*http.Request) (any, error){
			"POST /check": s.check,
		},
	}
}

// checkPage is a text field whose problems are shown as you type.
func (s *Check) checkPage(*http.Request) (page.Page, error) {
	return page.Page{Template: "check", Title: "Check a job file", Section: "check", Body: ExampleJob}, nil
}

// ExampleJob is what the text field contains at first.
const ExampleJob = `{
  "name": "hello",
  "image": "public.ecr.aws/docker/library/busybox:1.36",
  "command": ["echo", "hello"],
  "resources": { "vcpus": 1, "memory": "512 MiB" },
  "timeout": "10m"
}
`

// found is a problem of a checked text. From and To are offsets in UTF-16 code units, as scripts count.
type found struct {
	Line, Column   int
	From, To       int
	Severity, Rule string
	Message, Hint  string
	// Fix is the text with the fix applied, and FixNote what the fix does; "" without one.
	Fix, FixNote string
}

// checked is the answer about a text.
type checked struct {
	Problems []found
	// Counts is how many errors and warnings there are.
	Errors, Warnings int
	// Plan and Cost are what the commands print; "" while the text has errors. PlanProblem tells why there is no plan.
	Plan, Cost, PlanProblem string
	// Command checks the same in a terminal.
	Command string
}

// check answers about the job file in the request.
func (s *Check) check(r *http.Request) (any, error) {
	var in struct{ Text string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, page.BadRequest(err)
	}
	c, err := s.checkText(r.Context(), in.Text)
	return page.Exact{Data: c}, err
}

// checkText validates a text, and plans it if it has no errors.
func (s *Check) checkText(ctx context.Context, text string) (*checked, error) {
	var out bytes.Buffer
	notes, err := s.Commands.Stream(ctx, strings.NewReader(text), &out, "validate", "-", "--output", "json")
	var problems []struct {
		Line, Column, EndLine, EndColumn int
		Severity, Rule, Message, Hint    string
		Fix                              *struct {
			Message string
			Edits   []struct {
				Start, End int
				Text       string
			}
		}
	}
	if failed := json.Unmarshal(out.Bytes(), &problems); failed != nil {
		if err == nil {
			err = &source.CommandError{Message: strings.TrimSpace(notes)}
		}
		return nil, err
	}
	c := &checked{Problems: []found{}, Command: show.Text(s.Commands.Line("validate", "job.json"))}
	units := newUnits(text)
	for _, p := range problems {
		f := found{Line: p.Line, Column: p.Column, From: units.at(p.Line, p.Column),
			To: units.at(p.EndLine, p.EndColumn), Severity: p.Severity, Rule: p.Rule,
			Message: show.Text(p.Message), Hint: show.Text(p.Hint)}
		if p.Fix != nil {
			f.FixNote, f.Fix = show.Text(p.Fix.Message), text
			for i := len(p.Fix.Edits) - 1; i >= 0; i-- { // the last first, so that the offsets of the others stay
				if e := p.Fix.Edits[i]; 0 <= e.Start && e.Start <= e.End && e.End <= len(f.Fix) {
					f.Fix = f.Fix[:e.Start] + e.Text + f.Fix[e.End:]
				}
			}
		}
		if p.Severity == "error" {
			c.Errors++
		} else {
			c.Warnings++
		}
		c.Problems = append(c.Problems, f)
	}
	if c.Errors == 0 && strings.TrimSpace(text) != "" {
		c.Plan, c.PlanProblem = s.printed(ctx, text, "plan", "-")
		c.Cost, _ = s.printed(ctx, text, "cost", "-")
	}
	return c, nil
}

// printed returns what a command prints about a text, or why it failed.
func (s *Check) printed(ctx context.Context, text string, args ...string) (out, problem string) {
	var b bytes.Buffer
	_, err := s.Commands.Stream(ctx, strings.NewReader(text), &b, args...)
	if failed, ok := err.(*source.CommandError); ok && failed.Status != source.Changed || err != nil && !ok {
		return "", show.Text(err.Error())
	}
	out, _, _ = strings.Cut(b.String(), "\nnext: ") // the page has buttons
	return strings.TrimSpace(show.Lines(out)), ""
}

// units converts places in a text to offsets in UTF-16 code units.
type units struct {
	text  string
	lines []int // byte offsets of the lines
}

// newUnits returns a converter for a text.
func newUnits(text string) units {
	u := units{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			u.lines = append(u.lines, i+1)
		}
	}
	return u
}

// at returns the offset of a line and column, both from 1. Columns count characters.
func (u units) at(line, column int) int {
	line = min(max(line, 1), len(u.lines))
	at := u.lines[line-1]
	for range column - 1 {
		if at >= len(u.text) || u.text[at] == '\n' {
			break
		}
		_, size := utf8.DecodeRuneInString(u.text[at:])
		at += size
	}
	n := 0
	for _, r := range u.text[:at] {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

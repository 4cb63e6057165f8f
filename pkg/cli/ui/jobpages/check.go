package jobpages

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/cli/author"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
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
	o := author.ValidateOptions{}
	o.Given, o.Target.Platform, o.Format = s.About("validate", "-").Given, s.Options.Target.Platform, "json"
	problems, _, err := source.Do(ctx, s.Commands, text, source.Question[[]diag.Record]{Words: []string{"validate", "-"},
		Run: func(ctx context.Context, con *term.Console) ([]diag.Record, error) {
			return author.Validate(ctx, con, o)
		}})
	if problems == nil && err != nil {
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
		plan := preview.PlanOptions{}
		plan.Given, plan.Target = s.About("plan", "-").Given, s.Options.Target
		c.Plan, c.PlanProblem = s.printed(ctx, text, "plan", func(ctx context.Context, con *term.Console) (printer, error) {
			return preview.Plan(ctx, con, plan)
		})
		cost := preview.CostOptions{}
		cost.Given, cost.Target = s.About("cost", "-").Given, s.Options.Target
		c.Cost, _ = s.printed(ctx, text, "cost", func(ctx context.Context, con *term.Console) (printer, error) {
			return preview.Estimate(ctx, con, cost)
		})
	}
	return c, nil
}

// printer is a document that people read as text.
type printer interface{ Print(*term.Console) error }

// printed returns a document about a text as its command prints it, or why the command failed.
func (s *Check) printed(ctx context.Context, text, command string,
	read func(context.Context, *term.Console) (printer, error)) (out, problem string) {
	out, _, err := source.Do(ctx, s.Commands, text, source.Question[string]{Words: []string{command, "-"},
		Run: func(ctx context.Context, con *term.Console) (string, error) {
			document, err := read(ctx, con)
			if err != nil && exit.From(err).Code != exit.Change {
				return "", err
			}
			return source.Printed(con, document.Print)
		}})
	if err != nil {
		return "", show.Text(err.Error())
	}
	out, _, _ = strings.Cut(out, "\nnext: ") // the page has buttons
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

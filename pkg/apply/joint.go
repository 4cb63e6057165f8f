package apply

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint"
)

// Joint returns the errors that only the files together with the rest of the account show, such as a service
// environment of the account whose limits do not fit a queue of a file. An error of a resource that no file mentions
// counts only if the plan causes it.
func (p *Plan) Joint(files []*document.File, platform *document.Platform, state *State) (problems diag.List) {
	others, err := described(p.Others(state))
	before, errBefore := described(state)
	if err != nil || errBefore != nil {
		return nil // of a server whose answers are no requests
	}
	type finding struct{ rule, message string }
	known := map[finding]bool{}
	note := func(found diag.List) {
		for _, d := range found {
			known[finding{d.Rule, d.Message}] = true
		}
	}
	check := func(some ...*document.File) diag.List { return lint.Check(some, platform, lint.Rules()) }
	note(check(before))
	note(check(files...))
	for _, d := range check(append([]*document.File{others}, files...)...) {
		switch {
		case d.Severity != diag.Error || d.Waived != nil || known[finding{d.Rule, d.Message}] || d.Rule == ruleExists ||
			d.Rule == RuleEnabled:
		case d.Source == others.Source:
			problems = append(problems, Blocker(d.Hint, "%s, which is in no file: %s", requestAt(others, d),
				d.Message))
		case !p.Keeps(d.Source, d.Span):
			problems = append(problems, d)
		}
	}
	return problems
}

// RuleEnabled is the rule that an environment is created ENABLED. apply does that, and disables it afterwards.
const RuleEnabled = "ce-state-enabled"

// ruleExists is the rule about environments that no file creates. apply itself knows what the account has.
const ruleExists = "queue-ce-exists"

// described returns a document with the requests that would create the resources of a state.
func described(state *State) (*document.File, error) {
	text, err := state.Export("resources.schema.json")
	if err != nil {
		return nil, err
	}
	f, problems := document.Load(diag.NewSource("(account)", string(text)),
		document.Options{Kind: document.KindResources})
	if f == nil {
		return nil, fmt.Errorf("%v", problems)
	}
	return f, nil
}

// requestAt names the resource whose request contains a problem.
func requestAt(f *document.File, d diag.Diagnostic) string {
	for _, r := range f.Requests {
		if _, span := r.Location(); span.Start <= d.Span.Start && d.Span.End <= span.End {
			return Describe(r)
		}
	}
	return "a resource"
}

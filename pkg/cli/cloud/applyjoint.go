package cloud

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/apply"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint"
)

// joint returns the errors that only the files together with the rest of the account show, such as a service
// environment of the account whose limits do not fit a queue of a file. An error of a resource that no file mentions
// counts only if the plan causes it.
func (a *applying) joint(plan *apply.Plan, state *apply.State) (problems diag.List) {
	others, err := described(plan.Others(state))
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
	check := func(files ...*document.File) diag.List { return lint.Check(files, a.platform, lint.Rules()) }
	note(check(before))
	note(check(a.files...))
	for _, d := range check(append([]*document.File{others}, a.files...)...) {
		switch {
		case d.Severity != diag.Error || d.Waived != nil || known[finding{d.Rule, d.Message}] || d.Rule == ruleExists ||
			d.Rule == ruleEnabled:
		case d.Source == others.Source:
			problems = append(problems, apply.Blocker(d.Hint, "%s, which is in no file: %s", requestAt(others, d),
				d.Message))
		case !plan.Keeps(d.Source, d.Span):
			problems = append(problems, d)
		}
	}
	return problems
}

// ruleExists is the rule about environments that no file creates. apply itself knows what the account has.
const ruleExists = "queue-ce-exists"

// described returns a document with the requests that would create the resources of a state.
func described(state *apply.State) (*document.File, error) {
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
			return apply.Describe(r)
		}
	}
	return "a resource"
}

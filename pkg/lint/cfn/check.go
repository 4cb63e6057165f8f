// Package cfn turns the AWS Batch resources of CloudFormation templates into the requests that CloudFormation
// sends for them, so that rules about requests check templates too. It also finds launch templates and their
// user data.
package cfn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// The requests of a template are checked with the same schema and rules as job files.
// Their values may depend on parameters and conditions, and on values that only
// CloudFormation knows. So a template is checked
//
//   - in each scenario: the results of its conditions for possible values of parameters. A
//     problem in one scenario counts, because the template can be deployed that way.
//   - with several guesses for each unknown value, including its absence. A problem
//     counts only if every guess has it, because then it does not depend on the value.

// notOfTemplates are rules that do not apply to templates: a template has no Region, and
// rules about templates replace the others.
var notOfTemplates = []string{"submit-arn-region-mismatch", "ce-instancerole-required", "stuck-queue-no-fuse"}

// aboutAbsence are rules about something that is absent from the whole request. They do
// not apply to a request with unknown values.
var aboutAbsence = []string{"parameter-unused"}

// CheckRequests returns the problems that rules find in the files of requests.
type CheckRequests func(requests []*document.File) diag.List

// Check returns the problems that the schema and the rules find in the AWS Batch resources of a template. It
// calls the rules several times, each time with other requests.
func Check(f *document.File, rules CheckRequests) diag.List {
	t := newTemplate(f)
	if len(t.batch) == 0 {
		return nil
	}
	found := map[finding]diag.Diagnostic{}
	seen := map[string]bool{}
	for _, w := range t.scenarios() {
		if same := t.signature(w); seen[same] {
			continue // this scenario has the same requests
		} else {
			seen[same] = true
		}
		for f, d := range t.inScenario(w, rules) {
			if _, known := found[f]; !known {
				d.Message += w.where
				found[f] = d
			}
		}
	}
	list := diag.List(slices.Collect(maps.Values(found)))
	list.Sort()
	return list
}

// finding identifies a problem across several checks of a template.
type finding struct {
	rule, message string
	span          diag.Span
}

// inScenario returns the problems that occur for all guesses of the unknown values.
func (t *template) inScenario(w scenario, rules CheckRequests) map[finding]diag.Diagnostic {
	found, depends := t.inGuesses(nil, w, t.texts, rules)
	if missed := t.textsOf(found); depends && len(missed) > 0 {
		found, _ = t.inGuesses(found, w, slices.Concat(someTexts, missed), rules)
	}
	return found
}

// inGuesses returns the problems among common, or among all if that is nil, that occur for all guesses of the
// unknown values, each of which can be one of the texts. depends means that there are such values.
func (t *template) inGuesses(common map[finding]diag.Diagnostic, w scenario, texts []string, rules CheckRequests) (found map[finding]diag.Diagnostic, depends bool) {
	ordered := 0
	// The first guess finds the unknown values, and with them the number of guesses.
	for guess, guesses := 0, 1; guess < guesses; guess++ {
		m := &mapper{template: t, scenario: w, guessing: guessing{number: guess, ordered: ordered, texts: texts}}
		files, problems := m.requests()
		if guess == 0 {
			guesses, ordered = m.guessing.count(len(m.unknown), len(t.batch)), m.guessing.most
		}
		now := map[finding]diag.Diagnostic{}
		for _, d := range append(problems, rules(files)...) {
			if d.Source == t.file.Source && !slices.Contains(notOfTemplates, d.Rule) && (guesses == 1 || !slices.Contains(aboutAbsence, d.Rule)) {
				d = asTemplate(d)
				now[finding{d.Rule, d.Message, d.Span}] = d
			}
		}
		if common == nil {
			common = now
		}
		// Only problems of all guesses so far remain.
		maps.DeleteFunc(common, func(f finding, _ diag.Diagnostic) bool { _, still := now[f]; return !still })
		depends = guesses > 1
		if len(common) == 0 {
			break
		}
	}
	return common, depends
}

// textsOf returns the texts that problems are about and that no guess had: an unknown value may be the
// one that a problem says is absent. A template with many texts has some.
func (t *template) textsOf(found map[finding]diag.Diagnostic) (texts []string) {
	at := map[int]bool{}
	for f := range found {
		at[f.span.Start] = true
	}
	var visit func(n *jsontree.Node)
	visit = func(n *jsontree.Node) {
		if n.Str() != "" && at[n.Span.Start] && isGuessable(n.Text) && len(texts) < maxTexts && !slices.Contains(t.texts, n.Text) && !slices.Contains(texts, n.Text) {
			texts = append(texts, n.Text)
		}
		for c := range n.Children() {
			visit(c)
		}
	}
	for _, n := range t.batch {
		visit(n.Get("Properties"))
	}
	return texts
}

// signature identifies the known values of the requests of a scenario.
func (t *template) signature(w scenario) string {
	m := &mapper{template: t, scenario: w, guessing: guessing{texts: t.texts}}
	var b strings.Builder
	for _, r := range m.present() {
		b.WriteString(r.Name)
		b.Write(m.request(r, batchResources[r.Get("Type").Str()]).AppendJSON(nil))
	}
	for _, n := range m.unknown {
		fmt.Fprint(&b, n.Span.Start, " ")
	}
	return b.String()
}

// NotKnown returns the values in the AWS Batch resources of a template that only
// CloudFormation knows and that are therefore not checked; none for other files.
func NotKnown(f *document.File) []*jsontree.Node {
	if f.Kind != document.KindTemplate {
		return nil
	}
	t := newTemplate(f)
	seen := map[diag.Span]*jsontree.Node{}
	for _, w := range t.scenarios() {
		m := &mapper{template: t, scenario: w, guessing: guessing{texts: t.texts}}
		m.requests()
		for _, n := range m.unknown {
			seen[n.Span] = n
		}
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b *jsontree.Node) int { return a.Span.Start - b.Span.Start })
}

// requests returns the requests of the resources, and the problems that the schema finds.
func (m *mapper) requests() (files []*document.File, problems diag.List) {
	for _, r := range m.present() {
		kind := batchResources[r.Get("Type").Str()]
		root := m.request(r, kind)
		f, found := document.Built(m.template.file.Source, root, kind)
		files, problems = append(files, f), append(problems, found...)
	}
	return files, append(problems, m.found...)
}

// present returns the resources that exist in the scenario.
func (m *mapper) present() []*jsontree.Node {
	return slices.DeleteFunc(slices.Clone(m.template.batch), func(r *jsontree.Node) bool {
		condition := r.Get("Condition").Str()
		return condition != "" && !m.scenario.holds(m.template, condition)
	})
}

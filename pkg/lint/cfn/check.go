// Package cfn turns the AWS Batch resources of CloudFormation templates into the requests that CloudFormation
// sends for them, so that rules about requests check templates too. It does the same for the requests that state
// machines, EventBridge and shell scripts send. It also finds launch templates and their user data.
package cfn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/intrinsic"
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

// HasRequests reports whether Check reads a document: a template, or one of a service that sends requests to AWS Batch.
func HasRequests(f *document.File) bool {
	return f.Kind == document.KindTemplate || f.Kind == document.KindStateMachine || f.Kind == document.KindEventBridge
}

// Check returns the problems that the schema and the rules find in the requests of a document. It
// calls the rules several times, each time with other requests.
func Check(f *document.File, rules CheckRequests) diag.List {
	t := newTemplate(f)
	if len(t.batch) == 0 || f.Cut {
		return nil
	}
	found := map[finding]diag.Diagnostic{}
	seen, computed := map[string]bool{}, map[finding]bool{}
	for _, w := range t.scenarios() {
		if same := t.signature(w); seen[same] {
			continue // this scenario has the same requests
		} else {
			seen[same] = true
		}
		now := t.inScenario(w, rules)
		for f, d := range now {
			if _, known := found[f]; !known && !computed[f.ofAnyValue()] {
				d.Message += w.where
				found[f] = d
			}
		}
		for f := range now {
			if f != f.ofAnyValue() {
				computed[f.ofAnyValue()] = true
			}
		}
	}
	list := diag.List(slices.Collect(maps.Values(found)))
	list.Sort()
	return list
}

// finding identifies a problem across several checks of a template.
type finding struct {
	source        *diag.Source
	rule, message string
	span          diag.Span
}

// ofAnyValue returns the finding without the rejected text in it: a function gives another text in each scenario, and
// the author has to change the function once.
func (f finding) ofAnyValue() finding {
	f.message, _, _ = strings.Cut(f.message, `, not "`)
	return f
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
func (t *template) inGuesses(common map[finding]diag.Diagnostic, w scenario, texts []string,
	rules CheckRequests) (found map[finding]diag.Diagnostic, depends bool) {
	ordered, values, readings := 0, t.evaluator(w), map[*jsontree.Node]reading{}
	// The first guess finds the unknown values, and with them the number of guesses.
	for guess, guesses := 0, 1; guess < guesses; guess++ {
		m := &mapper{template: t, values: values, guessing: guessing{number: guess, ordered: ordered, texts: texts},
			readings: readings}
		files, problems := m.requests()
		if guess == 0 {
			guesses, ordered = m.guessing.count(len(m.unknown), len(t.batch)), m.guessing.most
		}
		now := map[finding]diag.Diagnostic{}
		for _, d := range append(problems, rules(files)...) {
			if t.has(d.Source) && !(t.file.Kind == document.KindTemplate && slices.Contains(notOfTemplates, d.Rule)) &&
				(guesses == 1 || !slices.Contains(aboutAbsence, d.Rule)) {
				d = t.asTemplate(d)
				now[finding{d.Source, d.Rule, d.Message, d.Span}] = d
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

// has reports whether a problem in a text belongs to the template: to its own text, or to that of a state machine.
func (t *template) has(src *diag.Source) bool {
	if src == t.file.Source {
		return true
	}
	for _, definition := range t.file.Definitions {
		if src == definition {
			return true
		}
	}
	return false
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
		if n.Str() != "" && at[n.Span.Start] && isGuessable(n.Text) && len(texts) < maxTexts &&
			!slices.Contains(t.texts, n.Text) && !slices.Contains(texts, n.Text) {
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
	m := &mapper{template: t, values: t.evaluator(w), guessing: guessing{texts: t.texts}}
	var b strings.Builder
	for _, r := range m.present() {
		b.WriteString(r.Name)
		for _, s := range m.sources(r) {
			b.Write(m.request(r, s).AppendJSON(nil))
		}
	}
	for _, n := range m.unknown {
		fmt.Fprint(&b, n.Node.Span.Start, " ")
	}
	return b.String()
}

// Unchecked is a value that is not checked, or a part of a script, with the reason.
type Unchecked struct {
	Node *jsontree.Node
	Why  intrinsic.Reason
}

// UnknownTypes returns the types of a template's resources that belong to AWS Batch, and that batchctl has no model of.
func UnknownTypes(f *document.File) (types []*jsontree.Node) {
	for r := range f.Root.Get("Resources").Children() {
		n := r.Get("Type")
		if _, known := batchResources[n.Str()]; !known && strings.HasPrefix(n.Str(), "AWS::Batch::") {
			types = append(types, n)
		}
	}
	return types
}

// NotKnown returns the values and requests in a document that Check or CheckScript reads and that are not checked; none
// for other files.
func NotKnown(f *document.File) []Unchecked {
	if f.Kind == document.KindUserData {
		_, unknown := documentsIn(f)
		return unknown
	}
	if !HasRequests(f) {
		return nil
	}
	t := newTemplate(f)
	seen := map[diag.Span]Unchecked{}
	for _, n := range UnknownTypes(f) {
		if !startsContainers(f) {
			break // nothing in the template is checked
		}
		seen[n.Span] = Unchecked{n, intrinsic.NoModel(n.Text)}
	}
	for _, w := range t.scenarios() {
		m := &mapper{template: t, values: t.evaluator(w), guessing: guessing{texts: t.texts}}
		m.requests()
		for _, u := range m.unknown {
			if _, again := seen[u.Node.Span]; !again {
				seen[u.Node.Span] = u
			}
		}
	}
	return slices.SortedFunc(maps.Values(seen),
		func(a, b Unchecked) int { return a.Node.Span.Start - b.Node.Span.Start })
}

// requests returns the requests of the resources, and the problems that the schema finds.
func (m *mapper) requests() (files []*document.File, problems diag.List) {
	for _, r := range m.present() {
		for _, s := range m.sources(r) {
			f, found := document.Built(m.template.file.Source, m.request(r, s), s.kind)
			files, problems = append(files, f), append(problems, found...)
			if m.update != nil {
				_, found := document.Built(m.template.file.Source, m.update, document.KindUpdateComputeEnvironment)
				problems = append(problems, found...)
			}
		}
	}
	return files, append(problems, m.found...)
}

// present returns the resources that exist in the scenario. One whose condition cannot be evaluated is not checked.
func (m *mapper) present() []*jsontree.Node {
	return slices.DeleteFunc(slices.Clone(m.template.batch), func(r *jsontree.Node) bool {
		exists, why := m.values.Exists(r)
		if exists == intrinsic.Open {
			m.unknown = append(m.unknown, Unchecked{r.Get("Condition"), why})
		}
		return exists != intrinsic.Yes
	})
}

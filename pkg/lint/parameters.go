package lint

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// nextReference cuts the name of the first Ref:: placeholder off a text; "" without
// one. A name is letters, digits, hyphens and underscores.
func nextReference(text string) (name, rest string) {
	for {
		i := strings.Index(text, "Ref::")
		if i < 0 {
			return "", ""
		}
		text = text[i+len("Ref::"):]
		n := strings.IndexFunc(text, func(r rune) bool { return !nameRune(r) })
		if n < 0 {
			n = len(text)
		}
		if n > 0 {
			return text[:n], text[n:]
		}
	}
}

// refers reports whether a text holds a Ref:: placeholder.
func refers(text string) bool {
	name, _ := nextReference(text)
	return name != ""
}

// reference is a Ref:: placeholder with the element of the command that holds it.
type reference struct {
	name string
	arg  *jsontree.Node
}

func addReferences(list []reference, command *jsontree.Node) []reference {
	for arg := range command.Children() {
		for name, rest := nextReference(arg.Str()); name != ""; name, rest = nextReference(rest) {
			list = append(list, reference{name, arg})
		}
	}
	return list
}

// commandReferences is the placeholders in the commands of definitions, and of
// what submissions override, by their request.
var commandReferences = newFact(func(p *Pass, _ map[*jsontree.Node][]reference) map[*jsontree.Node][]reference {
	all := map[*jsontree.Node][]reference{}
	add := func(request *jsontree.Node, command *jsontree.Node) {
		if found := addReferences(nil, command); found != nil {
			all[request] = append(all[request], found...)
		}
	}
	for _, s := range allSites.of(p).containers {
		add(s.Register, s.Node.Get("command"))
	}
	for _, s := range allSites.of(p).podContainers {
		add(s.Register, s.Node.Get("command"))
		add(s.Register, s.Node.Get("args"))
	}
	for _, s := range allSites.of(p).overrides {
		add(s.Submit, s.Node.Get("command"))
	}
	for _, s := range allSites.of(p).podOverrides {
		add(s.Submit, s.Node.Get("command"))
		add(s.Submit, s.Node.Get("args"))
	}
	return all
})

// runReferences is the placeholders of the commands that a submission runs: its own,
// and the definition's where it does not replace them.
func (j Job) runReferences() []reference {
	all := commandReferences.of(j.pass)
	if all[j.Submit] == nil && all[j.Known()] == nil {
		return nil // as nearly always
	}
	var list []reference
	for c := range j.changes() {
		for command := range c.commands() {
			list = addReferences(list, command)
		}
	}
	return list
}

func names(list []reference) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range list {
			if !yield(r.name) {
				return
			}
		}
	}
}

func refersTo(list []reference, name string) bool {
	return slices.ContainsFunc(list, func(r reference) bool { return r.name == name })
}

func parameterRules() []*Rule {
	return []*Rule{
		{
			Name: "ref-without-default", Severity: diag.Warning, Confidence: High,
			Doc:    "The command names a parameter that has no default, so every submission that does not give it fails.",
			Source: userGuide + ", job definition parameters; the service's error quoted in public repositories",
			Run: func(p *Pass) {
				for _, j := range p.Definitions() {
					if len(runs.of(p)[j.Register]) > 0 {
						continue // submit-ref-unresolved knows more
					}
					for _, r := range commandReferences.of(p)[j.Register] {
						if (Site{Job: j}).lacksParameter(j.Register, r.name) {
							j.Report(fmt.Sprintf("parameter %s has no default", quote(r.name)),
								fmt.Sprintf(`add "parameters": { %q: "..." }`, r.name), r.arg)
						}
					}
				}
			},
		},
		{
			Name: "submit-ref-unresolved", Severity: diag.Error, Confidence: High,
			Doc:    "The command names a parameter that neither the submission nor the job definition gives a value. AWS Batch refuses the submission.",
			Source: "the service's error (no parameter found for reference), quoted in public repositories",
			Run: func(p *Pass) {
				for _, j := range p.Submits() {
					if j.Known() == nil {
						continue
					}
					for _, r := range j.runReferences() {
						if !j.hasParameter(r.name) {
							j.Report(fmt.Sprintf("parameter %s has no value", quote(r.name)), j.parameterHint(r.name), r.arg)
						}
					}
				}
			},
		},
		{
			Name: "parameter-unused", Severity: diag.Warning, Confidence: Medium,
			Doc:    "A parameter that no Ref:: placeholder of the command names has no effect. Often it is a typo.",
			Source: userGuide + ", job definition parameters",
			Run: func(p *Pass) {
				for _, j := range p.Definitions() {
					for param := range j.Register.Get("parameters").Children() {
						if !p.uses(j, param.Name) {
							j.Report(unusedParameter(param.Name), "use it in the command as Ref::"+param.Name+", or remove it", param)
						}
					}
				}
			},
		},
		{
			Name: "submit-parameter-unknown", Severity: diag.Warning, Confidence: Medium,
			Doc:    "A submission gives a parameter that no Ref:: placeholder names, so it has no effect. Often it is a typo.",
			Source: userGuide + ", job definition parameters",
			Run: func(p *Pass) {
				for _, j := range p.Submits() {
					if j.Known() == nil || j.Own("parameters").Len() == 0 {
						continue
					}
					used := j.runReferences()
					for param := range j.Own("parameters").Children() {
						if !refersTo(used, param.Name) && !samePlace(param, j.Register.Get("parameters").Get(param.Name)) {
							j.Report(unusedParameter(param.Name), nearHint(param.Name, names(used)), param)
						}
					}
				}
			},
		},
	}
}

func unusedParameter(name string) string {
	return fmt.Sprintf("no Ref::%s in the command uses parameter %s", name, quote(name))
}

func nearHint(name string, known iter.Seq[string]) string {
	if near := nearIn(name, known); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	return "remove it"
}

func (j Job) hasParameter(name string) bool {
	s := Site{Job: j}
	return !s.lacksParameter(j.Submit, name) || !s.lacksParameter(j.Known(), name)
}

func (s Site) lacksParameter(request *jsontree.Node, name string) bool {
	list := request.Get("parameters")
	return list == nil || s.lacks(list, name)
}

func (j Job) parameterHint(name string) string {
	given := map[string]bool{}
	for _, list := range []*jsontree.Node{j.Submit.Get("parameters"), j.Known().Get("parameters")} {
		for param := range list.Children() {
			given[param.Name] = true
		}
	}
	if near := near(name, slices.Collect(maps.Keys(given))); near != "" {
		return "did you mean Ref::" + near + "?"
	}
	return fmt.Sprintf(`add "parameters": { %q: "..." }`, name)
}

// uses reports whether the definition's commands name the parameter, or those of a
// submission that runs it.
func (p *Pass) uses(definition Job, parameter string) bool {
	return refersTo(commandReferences.of(p)[definition.Register], parameter) ||
		slices.ContainsFunc(runs.of(p)[definition.Register], func(j Job) bool { return refersTo(j.runReferences(), parameter) })
}

// withRegister is the job with the definition it is known to run.
func withRegister(j Job) *document.Job {
	job := *j.Job
	job.Register = j.Known()
	return &job
}

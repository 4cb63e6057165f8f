package lint

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/spec"
)

// references yields the names of the Ref:: placeholders in a text. A name is
// letters, digits, hyphens and underscores.
//
//go:noinline
func references(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			_, rest, found := strings.Cut(text, "Ref::")
			if !found {
				return
			}
			n := strings.IndexFunc(rest, func(r rune) bool { return !nameRune(r) })
			if n < 0 {
				n = len(rest)
			}
			if n > 0 && !yield(rest[:n]) {
				return
			}
			text = rest[n:]
		}
	}
}

// refers reports whether a text holds a Ref:: placeholder.
func refers(text string) bool {
	if !strings.Contains(text, "Ref::") {
		return false // as nearly every text
	}
	for range references(text) {
		return true
	}
	return false
}

// refs yields the parameters that a command names, each with its element.
//
//go:noinline
func refs(command *jsontree.Node) iter.Seq2[string, *jsontree.Node] {
	return func(yield func(string, *jsontree.Node) bool) {
		for arg := range command.Children() {
			if !strings.Contains(arg.Str(), "Ref::") {
				continue
			}
			for name := range references(arg.Str()) {
				if !yield(name, arg) {
					return
				}
			}
		}
	}
}

// commands yields the command lines of a job definition.
//
//go:noinline
func (j Job) commands() iter.Seq[*jsontree.Node] {
	return func(yield func(*jsontree.Node) bool) {
		for c := range j.containers() {
			if !yield(c.Node.Get("command")) {
				return
			}
		}
		for c := range j.podContainers() {
			if !yield(c.Get("command")) || !yield(c.Get("args")) {
				return
			}
		}
	}
}

// effectiveCommands yields the command lines that a submission runs: its own,
// and the definition's where it does not replace them.
//
//go:noinline
func (j Job) effectiveCommands() iter.Seq[*jsontree.Node] {
	return func(yield func(*jsontree.Node) bool) {
		for o := range j.overrides() {
			if !yield(o.Get("command")) {
				return
			}
		}
		if j.Submit.Get("containerOverrides").Get("command") != nil {
			return
		}
		definition := Job{Job: withRegister(j), File: j.File, pass: j.pass}
		definition.commands()(yield)
	}
}

var parameterRules = []Rule{
	{
		Name: "ref-without-default", Severity: diag.Warning, Confidence: High,
		Doc:    "The command names a parameter that has no default, so every submission that does not give it fails.",
		Source: userGuide + ", job definition parameters; the service's error quoted in public repositories",
		Run: func(p *Pass) {
			for j := range p.Definitions() {
				if len(p.runs(j.Register)) > 0 {
					continue // submit-ref-unresolved knows more
				}
				for command := range j.commands() {
					for name, arg := range refs(command) {
						if j.Register.Get("parameters").Get(name) == nil {
							j.Report(fmt.Sprintf("parameter %s has no default", quote(name)),
								fmt.Sprintf(`add "parameters": { %q: "..." }`, name), arg)
						}
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
			for j := range p.Submits() {
				if j.Known() == nil {
					continue
				}
				for command := range j.effectiveCommands() {
					for name, arg := range refs(command) {
						if !j.hasParameter(name) {
							j.Report(fmt.Sprintf("parameter %s has no value", quote(name)), j.parameterHint(name), arg)
						}
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
			for j := range p.Definitions() {
				parameters := j.Register.Get("parameters")
				if parameters.Len() == 0 {
					continue
				}
				used := p.used(j)
				for param := range parameters.Children() {
					if !used[param.Name] {
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
			for j := range p.Submits() {
				if j.Known() == nil || j.Own("parameters").Len() == 0 {
					continue
				}
				used := map[string]bool{}
				for command := range j.effectiveCommands() {
					for name := range refs(command) {
						used[name] = true
					}
				}
				for param := range j.Own("parameters").Children() {
					if !used[param.Name] && !samePlace(param, j.Register.Get("parameters").Get(param.Name)) {
						j.Report(unusedParameter(param.Name), nearHint(param.Name, used), param)
					}
				}
			}
		},
	},
}

func unusedParameter(name string) string {
	return fmt.Sprintf("no Ref::%s in the command uses parameter %s", name, quote(name))
}

func nearHint(name string, used map[string]bool) string {
	if near := near(name, slices.Collect(maps.Keys(used))); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	return "remove it"
}

func (j Job) hasParameter(name string) bool {
	return j.Submit.Get("parameters").Get(name) != nil || j.Known().Get("parameters").Get(name) != nil
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

// used is the set of parameters that the definition's commands name, or those
// of a submission that runs it.
func (p *Pass) used(definition Job) map[string]bool {
	used := map[string]bool{}
	add := func(command *jsontree.Node) {
		for name := range refs(command) {
			used[name] = true
		}
	}
	for command := range definition.commands() {
		add(command)
	}
	for _, j := range p.runs(definition.Register) {
		for command := range j.effectiveCommands() {
			add(command)
		}
	}
	return used
}

// withRegister is the job with the definition it is known to run.
func withRegister(j Job) *spec.Job {
	job := *j.Job
	job.Register = j.Known()
	return &job
}

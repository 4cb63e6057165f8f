package lint

import (
	"iter"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// reference is a Ref:: placeholder with the element of the command that holds it.
type reference struct {
	name string
	arg  *jsontree.Node
	// inside is true if the element is longer than the placeholder, so that it is unknown
	// whether AWS Batch replaces it (batch.ParameterReference).
	inside bool
}

// commandReferences holds the placeholders in the commands of definitions and of
// overrides, by request.
var commandReferences = newFact(func(p *Pass, old map[*jsontree.Node][]reference) map[*jsontree.Node][]reference {
	all := emptied(old)
	add := func(request *jsontree.Node, command *jsontree.Node) {
		if found := addReferences(all[request], command); found != nil {
			all[request] = found
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

// runReferences returns the placeholders of the commands that a submission runs: its own,
// and those of the definition that it does not override.
func (j Job) runReferences() []reference {
	all := commandReferences.of(j.pass)
	if all[j.Submit] == nil && all[j.Known()] == nil {
		return nil // nearly all jobs
	}
	var list []reference
	for c := range j.resolved().changes {
		for command := range c.commands {
			list = addReferences(list, command)
		}
	}
	return list
}

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

// addReferences appends the placeholders of a command to a list, in the order of their
// occurrence: those that are a whole argument, and those inside one.
func addReferences(list []reference, command *jsontree.Node) []reference {
	for arg := range command.Children() {
		if name, whole := batch.ParameterReference(arg.Str()); whole {
			list = append(list, reference{name: name, arg: arg})
			continue
		}
		for name, rest := nextReference(arg.Str()); name != ""; name, rest = nextReference(rest) {
			list = append(list, reference{name, arg, true})
		}
	}
	return list
}

// names yields the names of placeholders, with duplicates.
func names(list []reference) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range list {
			if !yield(r.name) {
				return
			}
		}
	}
}

// refersTo reports whether a list has a placeholder of that name, be it inside an argument:
// then the parameter may be used, and ref-inside-word reports the doubt.
func refersTo(list []reference, name string) bool {
	return slices.ContainsFunc(list, func(r reference) bool { return r.name == name })
}

// hasParameter reports whether the submission or its definition has a value for a
// parameter, of any type. Another rule reports a value that is not a string.
func (j Job) hasParameter(name string) bool {
	return !j.lacksParameter(j.Submit, name) || !j.lacksParameter(j.Known(), name)
}

// lacksParameter reports whether a request has no value for a parameter.
func (f userFile) lacksParameter(request *jsontree.Node, name string) bool {
	list := request.Get("parameters")
	return list == nil || f.lacks(list, name)
}

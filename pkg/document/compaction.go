package document

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// compaction moves members of the requests into a compact job. Members that are not moved
// stay in jobDefinition and submitJob.
type compaction struct {
	register, submit, job *jsontree.Node
	// found are the members that their find functions took out of the requests.
	found map[string]*jsontree.Node
	taken map[*jsontree.Node]bool
}

// main returns the request from which members come that both requests have.
func (c *compaction) main() *jsontree.Node {
	if c.register == nil {
		return c.submit
	}
	return c.register
}

// box returns the container: of the definition, or the overrides of a registered one. It returns nil for a definition
// of several containers, whose job cannot have the members of one.
func (c *compaction) box() *jsontree.Node {
	switch {
	case c.register == nil:
		return c.submit.Get("containerOverrides")
	case fragmentName(c.register) != "":
		return nil
	}
	return c.register.Get("containerProperties")
}

// raise moves a member of the requests to the job.
func (c *compaction) raise(m *member) {
	c.job.Set(m.name, c.found[m.name])
	name := m.nameIn()
	if c.register == nil && m.in&inSubmission == 0 {
		name = m.override
	}
	switch {
	case m.find != nil:
	case m.in == inBoth:
		c.both(m.name)
	case m.in == inContainer:
		c.move(m.name, c.box().Get(name), m.raise)
	case m.in == inDefinition:
		c.move(m.name, c.main().Get(name), m.raise)
	case m.in == inSubmission:
		c.move(m.name, c.submit.Get(name), m.raise)
	}
}

// move moves a member of a request to the job; in the form that raise returns, unless that is nil.
func (c *compaction) move(name string, from *jsontree.Node, raise func(*jsontree.Node) *jsontree.Node) {
	if raise == nil {
		raise = c.rest
	}
	if from == nil {
		return
	}
	if value := raise(from); value != nil {
		c.job.Set(name, value.Clone())
		c.taken[from] = true
	}
}

// lastVariable returns the last variable of a container's environment if it is the only one of this name; nil
// otherwise. Lowering adds its own variables there.
func lastVariable(box *jsontree.Node, name string) *jsontree.Node {
	environment := slices.Collect(box.Get("environment").Children())
	at := slices.IndexFunc(environment, func(v *jsontree.Node) bool { return v.Get("name").Str() == name })
	if at < 0 || at != len(environment)-1 || environment[at].Len() != 2 {
		return nil
	}
	return environment[at]
}

// withoutLastVariable returns a copy of a container without the last variable of its environment.
func withoutLastVariable(box *jsontree.Node) *jsontree.Node {
	rest := without(box, []string{"environment"})
	others := box.Get("environment").Clone()
	if others.Remove(others.Index(others.Len() - 1)); others.Len() > 0 {
		rest.Set("environment", others)
	}
	return rest
}

// cutVariable returns the last variable of the submission's overrides if it has this name, and a copy of the
// submission without it; nil if another variable is last, or the submission has several containers.
func (c *compaction) cutVariable(name string) (variable, rest *jsontree.Node) {
	overrides := c.submit.Get("containerOverrides")
	v := lastVariable(overrides, name)
	if v == nil || overridesSeveral(c.submit) != nil {
		return nil, nil
	}
	rest = without(c.submit, []string{"containerOverrides"})
	if overrides = withoutLastVariable(overrides); overrides.Len() > 0 {
		rest.Set("containerOverrides", overrides)
	}
	return v, rest
}

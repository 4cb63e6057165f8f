package document

import (
	"fmt"
	"maps"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// checker turns the validator's findings into problems with a location. The validator only
// returns which keyword of which schema rejects which value. The messages come from the
// schema and the tree.
type checker struct {
	root   *jsontree.Node
	top    raw
	kind   Kind
	native bool // the document is an AWS request, or a list of them
	diags  diag.List
	// bad holds the values that must not be lowered.
	bad map[*jsontree.Node]bool
	// unknown lists the members among them whose value cannot be read, as in File.Unreadable.
	unknown []UnknownMember
	// missing lists the members that an object needs and lacks.
	missing []UnknownMember
	// overflow is true if the document has more problems than maxProblems.
	overflow bool
	// searches bounds the searches for similar names, which take longer than all other
	// checks.
	searches int
}

// maxProblems bounds the problems that are reported for one document.
const maxProblems = 1000

// report adds a problem of the schema.
func (c *checker) report(rule string, src *diag.Source, span diag.Span, hint, format string, args ...any) {
	c.diags = append(c.diags, diag.Diagnostic{
		Rule: rule, Source: src, Span: span, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// unreadable leaves out a value that says nothing, because it has the wrong type or is not one of those allowed. Rules
// that need the value must not report that it is absent.
func (c *checker) unreadable(node *jsontree.Node, steps []string) {
	c.bad[node] = true
	member := ""
	for i := len(steps); i > 0 && member == ""; i-- {
		if !c.root.At(steps[:i-1]...).Is(jsontree.Array) {
			member = steps[i-1]
		}
	}
	c.unknown = append(c.unknown, UnknownMember{member, node.Span})
}

// label names a value by the end of its path: "timeout", "resources.vcpus",
// "command[1]".
func (c *checker) label(steps ...string) string {
	if len(steps) == 0 {
		return "the document"
	}
	n, index := len(steps), ""
	for n > 1 && c.root.At(steps[:n-1]...).Is(jsontree.Array) {
		index = "[" + steps[n-1] + "]" + index
		n--
	}
	name := steps[n-1]
	if n > 1 && !c.root.At(steps[:n-2]...).Is(jsontree.Array) && !c.root.At(steps[:n-1]...).Is(jsontree.Array) {
		name = steps[n-2] + "." + name
	}
	return clip(name) + index
}

// schemasAt returns the schemas that a path of the document leads to.
func (c *checker) schemasAt(steps []string) []raw {
	level, node := []raw{c.top}, c.root
	for _, step := range steps {
		var next []raw
		for _, r := range level {
			next = append(next, r.step(node, step)...)
		}
		level, node = next, node.At(step)
	}
	return level
}

// spelling returns the known member for an unknown name, or "".
func (c *checker) spelling(written string, members map[string]raw) string {
	if c.searches--; c.searches < 0 {
		return ""
	}
	if _, known := members[written]; known {
		return written
	}
	if name := caseOf(written, members); name != "" {
		return name
	}
	if name := compactName(written); name != "" {
		return name
	}
	if name := awsName(written, members); name != "" {
		return name
	}
	return diag.Near(written, maps.Keys(members))
}

// lost reports whether the job states what runs, but in a member that is left out.
func (c *checker) lost(job *jsontree.Node) bool {
	if len(c.bad) == 0 {
		return false
	}
	top, _ := rawOf(KindJob.location())
	members := top.members()
	for m := range job.Children() {
		switch name := c.spelling(m.Name, members); name {
		case "image", "definition":
			if c.bad[m] {
				return true
			}
		case "jobDefinition":
			container := m.Get("containerProperties")
			if c.bad[m] || container != nil && (c.bad[container] || c.bad[container.Get("image")]) {
				return true
			}
		}
	}
	return c.bad[job]
}

// spoilt reports whether a value, or one inside it, is left out.
func (c *checker) spoilt(n *jsontree.Node) bool {
	if len(c.bad) == 0 || n == nil {
		return false
	}
	if c.bad[n] {
		return true
	}
	for child := range n.Children() {
		if c.spoilt(child) {
			return true
		}
	}
	return false
}

// clean returns a copy that can be lowered: without bad values, comments, and the $schema
// of a document or of a job in its list. Of members with the same name, it keeps the
// first, which is the one that was checked.
func (c *checker) clean(n *jsontree.Node) *jsontree.Node {
	if n.Kind != jsontree.Object && n.Kind != jsontree.Array {
		return n.Clone()
	}
	out := *jsontree.NewObject(n)
	out.Kind, out.Name = n.Kind, n.Name
	seen := map[string]bool{}
	for child := range n.Children() {
		if n.Kind == jsontree.Object && seen[child.Name] {
			continue
		}
		seen[child.Name] = true
		// In a map such as tags $schema is a name like any other.
		if !c.bad[child] && child.Name != "$comment" && (child.Name != "$schema" || n.Name != "") {
			out.Append(c.clean(child))
		}
	}
	return &out
}

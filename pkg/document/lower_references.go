package document

import (
	"slices"
	"strconv"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// references makes the references in the requests of a job canonical, notes the environment
// variables that contain them, and reports references without a value.
func (l *lowering) references(job *Job) {
	r := referring{sweep: l.sweep, source: ArraySource(job.Array)}
	switch {
	case job.Array == nil:
		r.without = "this job has no array"
	case r.source == nil:
		r.without = "the children of this array differ only in their index"
	case r.source.Name == "commands":
		r.without = "a command list has no values"
	}
	for _, request := range [...]*jsontree.Node{job.Register, job.Submit} {
		for m := range request.Children() {
			switch m.Name {
			case "containerProperties", "containerOverrides":
				r.container(m)
			case "parameters":
				r.replacedEach(m)
			default:
				r.misplaced(m, unknownHere)
			}
		}
	}
	for _, m := range members {
		if m.references != nil {
			m.references(&r, job)
		}
	}
	l.diags = append(l.diags, r.diags...)
}

// container replaces references in the members of a container that can have them, and
// reports those in any other member.
func (r *referring) container(n *jsontree.Node) {
	for m := range n.Children() {
		switch m.Name {
		case "command":
			r.replacedEach(m)
		case "environment":
			r.environment(m)
		default:
			r.misplaced(m, unknownHere)
		}
	}
}

// environment replaces references in the values of variables. The variable is then one
// that the launcher fills for each child.
func (r *referring) environment(list *jsontree.Node) {
	for variable := range list.Children() {
		name := variable.Get("name")
		r.misplaced(name, unknownHere)
		if r.replaced(variable.Get("value")) && r.sweep != nil {
			r.template(name)
		}
	}
}

// template records a variable whose value the launcher computes again for each child.
func (r *referring) template(name *jsontree.Node) {
	s := r.sweep
	if s.Launcher == sweep.Shell && !sweep.ValidVariable(name.Str()) {
		r.report(RuleMatrixReference, name, name.Span,
			`rename it with letters, digits and underscores, or write "launcher": "batchctl" in the array`,
			"a shell cannot set the variable %s, which holds a value of the child", strconv.Quote(clip(name.Str())))
	}
	r.fill(name.Str())
}

// fill records a variable that the launcher fills for each child.
func (r *referring) fill(name string) {
	if s := r.sweep; s != nil && !slices.Contains(s.Templates, name) {
		s.Templates = append(s.Templates, name)
	}
}

// replacedEach replaces references in the elements of a list.
func (r *referring) replacedEach(list *jsontree.Node) {
	for n := range list.Children() {
		r.replaced(n)
	}
}

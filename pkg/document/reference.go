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
	r.rewriteLocations(job)
	l.diags = append(l.diags, r.diags...)
}

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

func (r *referring) environment(list *jsontree.Node) {
	for variable := range list.Children() {
		name := variable.Get("name")
		r.misplaced(name, unknownHere)
		if r.replaced(variable.Get("value")) && r.sweep != nil {
			r.template(name)
		}
	}
}

// template notes a variable that the launcher sets again.
func (r *referring) template(name *jsontree.Node) {
	s := r.sweep
	if s.Launcher == sweep.Shell && !sweep.ValidVariable(name.Str()) {
		r.report(RuleMatrixReference, name, name.Span, `rename it with letters, digits and underscores, or write "launcher": "batchctl" in the array`,
			"a shell cannot set the variable %s, which holds a value of the child", strconv.Quote(clip(name.Str())))
	}
	if !slices.Contains(s.Templates, name.Str()) {
		s.Templates = append(s.Templates, name.Str())
	}
}

func (r *referring) replacedEach(list *jsontree.Node) {
	for n := range list.Children() {
		r.replaced(n)
	}
}

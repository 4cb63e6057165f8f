package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/stage"
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
	r.misplaced(job.MetricsNode, "the children of an array have the same metrics")
	r.misplaced(job.RungsNode, "the children of an array have the same rungs")
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
	if !slices.Contains(s.Templates, name.Str()) {
		s.Templates = append(s.Templates, name.Str())
	}
}

// replacedEach replaces references in the elements of a list.
func (r *referring) replacedEach(list *jsontree.Node) {
	for n := range list.Children() {
		r.replaced(n)
	}
}

// rewriteLocations visits the references in inputs and outputs. The launcher replaces them
// in the variable that batchctl stage reads.
func (r *referring) rewriteLocations(job *Job) {
	var some bool
	for _, in := range job.Inputs {
		some = r.rewriteLocation(in.Node, in.Source, "input") || some
		r.misplaced(in.SHA256, unknownHere)
	}
	for _, out := range job.Outputs {
		some = r.rewriteLocation(out.Node, out.Destination, "output") || some
	}
	if job.Checkpoint != nil {
		some = r.rewriteCheckpoint(job.Checkpoint) || some
	}
	if some && r.sweep != nil && !slices.Contains(r.sweep.Templates, stage.Variable) {
		r.sweep.Templates = append(r.sweep.Templates, stage.Variable)
	}
}

// rewriteLocation writes the references of a location in their canonical form, and reports
// whether it has some.
func (r *referring) rewriteLocation(member, n *jsontree.Node, what string) bool {
	for _, ref := range sweep.References(member.Name) {
		r.report(RuleMatrixReference, member, member.Key,
			"use the same path for all children: each has its own file system",
			"%s is not allowed in a container path", clip(member.Name[ref.From:ref.To]))
	}
	if !strings.Contains(n.Str(), referenceMark) {
		return false
	}
	if IsLocal(n.Text) {
		for _, ref := range sweep.References(n.Text) {
			r.blame(n, ref, "put the files into S3, and write s3://bucket/... here",
				"%s is not allowed in a local path: an %s that differs between children needs an S3 URL",
				clip(n.Text[ref.From:ref.To]), what)
		}
		return false
	}
	if !r.replaced(n) {
		return false
	}
	r.fits(n)
	return true
}

// rewriteCheckpoint visits the references in a checkpoint. It reports whether its location has some.
func (r *referring) rewriteCheckpoint(c *Checkpoint) bool {
	r.misplaced(c.Path, "use the same path for all children: each has its own file system")
	n := c.To
	switch {
	case n == nil || !strings.Contains(n.Text, referenceMark):
		return false
	case c.IsStaged():
		for _, ref := range sweep.References(n.Text) {
			r.blame(n, ref, "use a path without it: each child has its own checkpoint",
				"%s is not allowed in a local path", clip(n.Text[ref.From:ref.To]))
		}
		return false
	case !r.replaced(n):
		return false
	}
	r.fits(n)
	return true
}

// fits reports values that cannot be part of a location.
func (r *referring) fits(n *jsontree.Node) {
	for _, ref := range sweep.References(n.Text) {
		if value, bad := r.unfit(ref.Name); bad {
			r.blame(n, ref, "use axis values without quotes, backslashes and control characters",
				"the value %s of %s is not allowed in a location", strconv.Quote(clip(value)), ref.Name)
		}
	}
}

// unfit returns a value of an axis or column that would end the string of a location in JSON:
// the launcher inserts values without escaping.
func (r *referring) unfit(name string) (value string, bad bool) {
	if r.sweep == nil {
		return "", false
	}
	isUnfit := func(v string) bool {
		return strings.ContainsFunc(v, func(c rune) bool { return c == '"' || c == '\\' || c < ' ' })
	}
	for _, axis := range r.sweep.Axes {
		if i := slices.IndexFunc(axis.Values, isUnfit); axis.Name == name && i >= 0 {
			return axis.Values[i], true
		}
	}
	column := slices.Index(r.sweep.Names, name)
	for _, row := range r.sweep.Rows {
		if column >= 0 && isUnfit(row[column]) {
			return row[column], true
		}
	}
	return "", false
}

package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// deprecation is a member of a job file, a workflow file or a platform file that has a successor. For two minor
// versions it has its old meaning, and a warning. After that it is an error.
type deprecation struct {
	kind Kind
	// path leads to the member; "*" stands for every element. A member of a job also counts in a workflow.
	path []string
	// since is the minor version that deprecated the member, such as "1.4".
	since string
	// now is the member's new name. Without one, hint says what to write instead.
	now, hint string
	// over means that the two minor versions have passed.
	over bool
}

// deprecations are the deprecated members. A member without a new name stays in the schema until over is set.
var deprecations []deprecation

// deprecated reports the deprecated members of the file, and renames those with a new name in the tree, so that the
// schema and the rules know only that name. removed are members that the schema no longer has.
func (f *File) deprecated(list []deprecation) (diags diag.List, removed []*jsontree.Node) {
	for _, d := range list {
		var starts []*jsontree.Node
		switch {
		case d.kind == f.Kind:
			starts = append(starts, f.Root)
		case d.kind == KindJob && f.Kind == KindWorkflow:
			starts = append(starts, f.Root.Get("defaults"))
			for job := range f.Root.Get("jobs").Children() {
				starts = append(starts, job)
			}
		}
		last := len(d.path) - 1
		for _, start := range starts {
			for _, parent := range nodesAt(start, d.path[:last]) {
				member := parent.Get(d.path[last])
				if member == nil {
					continue
				}
				diags = append(diags, d.problem(parent, member))
				if d.now != "" && parent.Get(d.now) == nil {
					member.Name = d.now
				} else if d.now != "" || d.over {
					removed = append(removed, member)
				}
			}
		}
	}
	return diags, removed
}

// nodesAt returns the nodes at a path whose steps can be "*".
func nodesAt(n *jsontree.Node, path []string) []*jsontree.Node {
	if n == nil || len(path) == 0 {
		return []*jsontree.Node{n}
	}
	if path[0] != "*" {
		return nodesAt(n.Get(path[0]), path[1:])
	}
	var all []*jsontree.Node
	for child := range n.Children() {
		all = append(all, nodesAt(child, path[1:])...)
	}
	return all
}

// problem is the warning about a deprecated member, or the error about one that is over.
func (d deprecation) problem(parent, member *jsontree.Node) diag.Diagnostic {
	hint := d.hint
	if d.now != "" {
		hint = "write \"" + d.now + "\""
	}
	p := problem(RuleDeprecatedMember, member.Source, member.Key, hint, "\"%s\" is deprecated since version %s",
		strings.Join(d.path, "."), d.since)
	p.Severity = diag.Warning
	if d.over {
		p.Severity, p.Message = diag.Error, strings.Replace(p.Message, "is deprecated since", "was deprecated in", 1)+
			", and this version does not read it"
	}
	switch {
	case d.now == "":
	case parent.Get(d.now) != nil:
		p.Severity, p.Hint = diag.Error, "remove \""+member.Name+"\""
		p.Message = "\"" + member.Name + "\" is the old name of \"" + d.now + "\", which is also here"
	default:
		p.Fix = &diag.Fix{Message: "rename it to " + d.now,
			Edits: []diag.Edit{{Span: member.Key, Text: "\"" + d.now + "\""}}}
	}
	return p
}

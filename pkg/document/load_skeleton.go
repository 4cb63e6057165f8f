package document

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// RuleSkeleton reports a request with the empty values that the AWS CLI's --generate-cli-skeleton printed.
const RuleSkeleton = "skeleton"

// A request without a name is a skeleton if it has this many empty strings, and one with a name if it has this many and
// the key that the AWS CLI invents for maps.
const (
	fewEmpty  = 3
	manyEmpty = 8
)

// skeleton reports, once, a request whose values are still to be filled in. The rules would report each of them.
func (f *File) skeleton() diag.List {
	if !f.Kind.native() {
		return nil
	}
	var first *jsontree.Node
	empty, invented := 0, false
	var count func(n *jsontree.Node)
	count = func(n *jsontree.Node) {
		if n.Is(jsontree.String) && n.Text == "" {
			if empty++; first == nil {
				first = n
			}
			invented = invented || n.Name == "KeyName"
		}
		for child := range n.Children() {
			count(child)
		}
	}
	count(f.Root)
	name := f.Root.Get(f.Kind.NameMember())
	nameless := name.Is(jsontree.String) && name.Text == ""
	if !(nameless && empty >= fewEmpty || invented && empty >= manyEmpty) {
		return nil
	}
	d := problem(RuleSkeleton, first.Source, first.Span,
		"write the values that you need, remove the other members, then check the file again",
		"this skeleton of a request is not filled in: %d of its values are empty", empty)
	d.Severity = diag.Warning
	return diag.List{d}
}

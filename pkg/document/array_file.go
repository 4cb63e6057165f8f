package document

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// readSibling reads a file that a member names. It reports an error and returns nil.
func readSibling(p *problems, rule string, n *jsontree.Node, o Options) *diag.Source {
	if o.Read == nil {
		return nil
	}
	if n.Str() == "" {
		p.report(rule, n, n.Span, "write the path of a file", "%s is empty", n.Name)
		return nil
	}
	src, err := o.Read(n.Str())
	if err != nil {
		p.report(rule, n, n.Span, hintOf(err), "cannot read %s: %v", clip(n.Str()), err)
		return nil
	}
	return src
}

package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// clean returns the copy of the root that callers get.
func (f *File) clean(c *checker) *jsontree.Node {
	if len(c.diags) > 0 || commented(f.Root) {
		return c.clean(f.Root)
	}
	return without(f.Root, []string{"$comment", "$schema"}) // the same, and much faster
}

// commented reports whether a member below the top is a comment or a $schema.
func commented(n *jsontree.Node) bool {
	for child := range n.Children() {
		for inner := range child.Children() {
			if strings.HasPrefix(inner.Name, "$") {
				return true
			}
		}
		if commented(child) {
			return true
		}
	}
	return false
}

// kept returns the elements that a clean copy of the array also has.
func kept(array *jsontree.Node, bad map[*jsontree.Node]bool) []*jsontree.Node {
	if bad[array] {
		return nil
	}
	return slices.DeleteFunc(slices.Collect(array.Children()), func(n *jsontree.Node) bool { return bad[n] })
}

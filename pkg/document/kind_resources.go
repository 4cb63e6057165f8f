package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// isResources reports whether a document has lists of requests that create resources. The output of a describe
// operation has such lists too, and its elements have members that no request has.
func isResources(root *jsontree.Node) bool {
	if d, _ := describedIn(root); d != nil {
		return false
	}
	lists, requests := 0, 0
	for list := range root.Children() {
		if !list.Is(jsontree.Array) {
			continue
		}
		name := plain(list.Name)
		at := slices.IndexFunc(ResourceLists[:], func(l ResourceList) bool { return strings.EqualFold(l.Member, name) })
		if at < 0 {
			continue
		}
		lists++
		if first := list.Index(0); first.Is(jsontree.Object) && ResourceLists[at].Kind.shared(first) > 0 {
			requests++
		}
	}
	return requests > 0 && 2*lists >= contents(root)
}

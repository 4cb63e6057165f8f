package lint

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// targetNodes matches the forms "n", "n:", ":m" and "n:m" of NodeRangeProperty.targetNodes
// in the API reference. Nine digits fit an int on every platform.
var targetNodes = lazy(`^([0-9]{1,9}|[0-9]{0,9}:[0-9]{0,9})$`)

// nodeRange holds the nodes of targetNodes: from first to last. The last of an open range is
// the last node of the job.
type nodeRange struct {
	first, last int
	// open is true for "n:", which grows with numNodes.
	open bool
}

// readTargets reads targetNodes of a job with this number of nodes.
func readTargets(s string, nodes int) (nodeRange, bool) {
	if !targetNodes().MatchString(s) {
		return nodeRange{}, false
	}
	from, to, isRange := strings.Cut(s, ":")
	first, _ := strconv.Atoi(cmp.Or(from, "0"))
	switch {
	case !isRange:
		return nodeRange{first: first, last: first}, true
	case to == "":
		return nodeRange{first: first, last: nodes - 1, open: true}, true
	}
	last, _ := strconv.Atoi(to)
	return nodeRange{first: first, last: last}, true
}

// ranges yields the node ranges with valid targetNodes.
func ranges(node *jsontree.Node) func(yield func(*jsontree.Node, nodeRange) bool) {
	n, _ := node.Get("numNodes").Int()
	return func(yield func(*jsontree.Node, nodeRange) bool) {
		for _, g := range each(node, "nodeRangeProperties") {
			if r, ok := readTargets(g.Get("targetNodes").Str(), int(n)); ok && !yield(g.Get("targetNodes"), r) {
				return
			}
		}
	}
}

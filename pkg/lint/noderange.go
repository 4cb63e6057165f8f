package lint

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

var targetNodes = lazy(`^([0-9]{1,9}|[0-9]{0,9}:[0-9]{0,9})$`)

// span holds the nodes of targetNodes: from first to last. The last of an open range is
// the last node of the job.
type span struct {
	first, last int
	open        bool
}

// readTargets reads targetNodes of a job with this number of nodes.
func readTargets(s string, nodes int) (span, bool) {
	if !targetNodes().MatchString(s) {
		return span{}, false
	}
	from, to, isRange := strings.Cut(s, ":")
	first, _ := strconv.Atoi(cmp.Or(from, "0"))
	switch {
	case !isRange:
		return span{first: first, last: first}, true
	case to == "":
		return span{first: first, last: nodes - 1, open: true}, true
	}
	last, _ := strconv.Atoi(to)
	return span{first: first, last: last}, true
}

// ranges yields the node ranges with valid targetNodes.
func ranges(node *jsontree.Node) func(yield func(*jsontree.Node, span) bool) {
	n, _ := node.Get("numNodes").Int()
	return func(yield func(*jsontree.Node, span) bool) {
		for g := range each(node, "nodeRangeProperties") {
			if r, ok := readTargets(g.Get("targetNodes").Str(), int(n)); ok && !yield(g.Get("targetNodes"), r) {
				return
			}
		}
	}
}

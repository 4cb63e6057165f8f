package lint

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// requested is a job's request for one resource type: all containers of all nodes of the
// definition, with the submission's overrides.
type requested struct {
	// total counts the request of each container once for each node that runs it.
	total float64
	// shares holds the request of each container; those of a range of nodes once.
	shares []share
}

// share is the request of one container, and on how many nodes the container runs.
type share struct {
	value  *jsontree.Node // the number in the file
	amount float64        // of one container
	nodes  int            // the number of nodes that run it
}

// part holds the containers of a job, or of equal nodes.
type part struct {
	definition, override *jsontree.Node // objects with members such as containerProperties
	container            string         // the name of the container member in a definition
	nodes                int
}

// requestsFor adds up the job's requests for "VCPU", "MEMORY" (in MiB) or "GPU". It leaves
// out invalid numbers, and those of an unknown definition.
func (r resolvedJob) requestsFor(kind string) (d requested) {
	for _, p := range r.parts() {
		for _, s := range p.shares(kind) {
			s.nodes = p.nodes
			d.shares = append(d.shares, s)
			d.total += s.amount * float64(p.nodes)
		}
	}
	return d
}

// largest returns the value of the largest share.
func (d requested) largest() *jsontree.Node {
	if len(d.shares) == 0 {
		return nil
	}
	return slices.MaxFunc(d.shares, func(a, b share) int {
		return cmp.Compare(a.amount*float64(a.nodes), b.amount*float64(b.nodes))
	}).value
}

// parts returns the job itself, or each range of equal nodes.
func (r resolvedJob) parts() []part {
	node, override := r.definition.Get("nodeProperties"), r.submit.Get("nodeOverrides")
	if node == nil && override == nil {
		return []part{{definition: r.definition.Node, override: r.submit, container: "containerProperties", nodes: 1}}
	}
	own, over := node.Get("nodeRangeProperties"), override.Get("nodePropertyOverrides")
	count, _ := node.Get("numNodes").Int()
	if n, ok := override.Get("numNodes").Int(); ok {
		count = n
	}
	if count < 1 { // unknown: use the highest node that ranges name
		count = int64(named(own, over))
	}
	count = min(count, mostNodes)
	// Ranges of the definition and of the override may overlap, so the nodes are split
	// where any range starts or ends.
	groups, overrides := rangesOf(own, int(count)), rangesOf(over, int(count))
	starts := bounds(int(count), groups, overrides)
	var parts []part
	for i, first := range starts[:len(starts)-1] {
		parts = append(parts, part{definition: groupOf(groups, first), override: groupOf(overrides, first),
			container: "container", nodes: starts[i+1] - first})
	}
	return parts
}

// named returns the smallest number of nodes that contains all ranges.
func named(lists ...*jsontree.Node) (n int) {
	for _, list := range lists {
		for g := range list.Children() {
			if r, ok := readTargets(g.Get("targetNodes").Str(), 0); ok {
				n = max(n, r.first+1, r.last+1)
			}
		}
	}
	return n
}

// mostNodes keeps sums of hostile files within an int.
const mostNodes = 1 << 20

// group holds the properties of a range of nodes.
type group struct {
	properties *jsontree.Node
	nodeRange
}

// mostRanges bounds the work on hostile files; AWS Batch accepts 5 ranges.
const mostRanges = 100

// rangesOf returns the ranges of a list that can be read.
func rangesOf(list *jsontree.Node, count int) (groups []group) {
	for g := range list.Children() {
		if r, ok := readTargets(g.Get("targetNodes").Str(), count); ok && len(groups) < mostRanges {
			groups = append(groups, group{g, r})
		}
	}
	return groups
}

// bounds returns in order the first node of each range of equal nodes, and the number
// of nodes at the end.
func bounds(count int, lists ...[]group) []int {
	starts := []int{0, count}
	for _, list := range lists {
		for _, g := range list {
			starts = append(starts, max(0, min(g.first, count)), max(0, min(g.last+1, count)))
		}
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

// groupOf returns the properties of a node: of nested ranges those of the innermost,
// as AWS Batch does.
func groupOf(list []group, node int) (properties *jsontree.Node) {
	least := 0
	for _, g := range list {
		if size := g.last - g.first; g.first <= node && node <= g.last && (properties == nil || size < least) {
			properties, least = g.properties, size
		}
	}
	return properties
}

// shares returns the requests of the containers of a part.
func (p part) shares(kind string) (list []share) {
	add := func(values ...*jsontree.Node) {
		for _, n := range values {
			if f, ok := number(n); ok && f > 0 && f < 1<<40 {
				list = append(list, share{value: n, amount: f})
			}
		}
	}
	add(plan.Requirement(p.definition.Get(p.container), p.override.Get("containerOverrides"), kind))
	tasks, over := p.definition.Get("ecsProperties").Get("taskProperties"), p.override.Get("ecsPropertiesOverride").
		Get("taskProperties")
	for c, o := range together(tasks.Index(0).Get("containers"), over.Index(0).Get("containers")) {
		add(plan.Requirement(c, o, kind))
	}
	return append(list, p.podShares(kind)...)
}

// podShares returns the requests of the containers of a pod. An init container counts
// only if it requests more than all containers after it together.
func (p part) podShares(kind string) (list []share) {
	pod, over := p.definition.Get("eksProperties").Get("podProperties"), p.override.Get("eksPropertiesOverride").
		Get("podProperties")
	total := 0.0
	for c, o := range together(pod.Get("containers"), over.Get("containers")) {
		if s, ok := quantity(c, o, kind); ok {
			list = append(list, s)
			total += s.amount
		}
	}
	for c, o := range together(pod.Get("initContainers"), over.Get("initContainers")) {
		if s, ok := quantity(c, o, kind); ok && s.amount > total {
			list, total = []share{s}, s.amount
		}
	}
	return list
}

// quantity returns the larger of limit and request of a container in a pod.
func quantity(container, over *jsontree.Node, kind string) (s share, ok bool) {
	key := map[string]string{"VCPU": "cpu", "MEMORY": "memory", "GPU": gpuKey}[kind]
	for _, list := range []string{"limits", "requests"} {
		n := firstOf(over.Get("resources").Get(list).Get(key), container.Get("resources").Get(list).Get(key))
		text := n.Str()
		if kind == "MEMORY" {
			text = strings.TrimSuffix(text, "Mi")
		}
		if f, read := number(jsontree.NewString(text, n)); n != nil && read && f > s.amount && f < 1<<40 {
			s, ok = share{value: n, amount: f}, true
		}
	}
	return s, ok
}

// together yields the containers of a definition with their overrides of the same
// name, and only the overrides if the definition is unknown. On EKS a
// container without a name is called Default.
func together(containers, overrides *jsontree.Node) iter.Seq2[*jsontree.Node, *jsontree.Node] {
	name := func(n *jsontree.Node) string { return cmp.Or(n.Get("name").Str(), "Default") }
	return func(yield func(container, over *jsontree.Node) bool) {
		byName := map[string]*jsontree.Node{}
		for o := range overrides.Children() {
			byName[name(o)] = o
		}
		for c := range containers.Children() {
			if !yield(c, byName[name(c)]) {
				return
			}
		}
		if containers != nil {
			return
		}
		for o := range overrides.Children() {
			if !yield(nil, o) {
				return
			}
		}
	}
}

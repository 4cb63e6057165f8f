package lint

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// demand is what a job asks for of one kind of resource: the definition with the
// submission's overrides on top, all containers of all nodes.
type demand struct {
	total float64
	// shares is what each container asks for; those of a range of nodes once.
	shares []share
}

type share struct {
	value  *jsontree.Node // the figure, where it was written
	amount float64        // of one container
	nodes  int            // how many run it
}

// part is the containers of a job, or of the nodes that are alike.
type part struct {
	definition, override *jsontree.Node // whose members are containerProperties and the like
	container            string         // the name of that member in a definition
	nodes                int
}

// demands sums what the job asks for of a kind: "VCPU", "MEMORY" (in MiB) or
// "GPU". A figure that cannot be read, or that stands in a definition that is not
// known here, is left out.
func (j Job) demands(kind string) (d demand) {
	for p := range j.parts() {
		for _, s := range p.shares(kind) {
			s.nodes = p.nodes
			d.shares = append(d.shares, s)
			d.total += s.amount * float64(p.nodes)
		}
	}
	return d
}

// largest is the value of the share that weighs most.
func (d demand) largest() *jsontree.Node {
	if len(d.shares) == 0 {
		return nil
	}
	return slices.MaxFunc(d.shares, func(a, b share) int {
		return cmp.Compare(a.amount*float64(a.nodes), b.amount*float64(b.nodes))
	}).value
}

// parts yields the job itself, or each range of nodes in which all are alike.
func (j Job) parts() iter.Seq[part] {
	return func(yield func(part) bool) {
		node := j.Known().Get("nodeProperties")
		over := j.Submit.Get("nodeOverrides")
		if node == nil && over == nil {
			yield(part{definition: j.Known(), override: j.Submit, container: "containerProperties", nodes: 1})
			return
		}
		count, _ := node.Get("numNodes").Int()
		if n, ok := over.Get("numNodes").Int(); ok {
			count = n
		}
		groups, overrides := node.Get("nodeRangeProperties"), over.Get("nodePropertyOverrides")
		if count < 1 { // not known here: as many as are named
			count = int64(named(groups, overrides))
		}
		count = min(count, mostNodes)
		starts := bounds(int(count), groups, overrides)
		for i, first := range starts[:len(starts)-1] {
			p := part{container: "container", nodes: starts[i+1] - first,
				definition: groupOf(groups, first, int(count)), override: groupOf(overrides, first, int(count))}
			if p.nodes > 0 && !yield(p) {
				return
			}
		}
	}
}

// named is the number of nodes that ranges name at least.
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

// mostNodes keeps the sums over hostile files within an int.
const mostNodes = 1 << 20

// bounds returns the first node of each range in which all nodes are alike, and
// the number of nodes behind the last of them, in order.
func bounds(count int, lists ...*jsontree.Node) []int {
	starts := []int{0, count}
	for _, list := range lists {
		for g := range list.Children() {
			if r, ok := readTargets(g.Get("targetNodes").Str(), count); ok {
				starts = append(starts, max(0, min(r.first, count)), max(0, min(r.last+1, count)))
			}
		}
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

// groupOf returns the element of a list of ranges that is about a node: of nested
// ranges the innermost, as AWS Batch has it.
func groupOf(list *jsontree.Node, node, count int) (group *jsontree.Node) {
	least := 0
	for g := range list.Children() {
		r, ok := readTargets(g.Get("targetNodes").Str(), count)
		if size := r.last - r.first; ok && r.first <= node && node <= r.last && (group == nil || size < least) {
			group, least = g, size
		}
	}
	return group
}

// shares is what the containers of a part ask for.
func (p part) shares(kind string) (list []share) {
	add := func(values ...*jsontree.Node) {
		for _, n := range values {
			if f, ok := number(n); ok && f > 0 && f < 1<<40 {
				list = append(list, share{value: n, amount: f})
			}
		}
	}
	add(plan.Requirement(p.definition.Get(p.container), p.override.Get("containerOverrides"), kind))
	tasks, over := p.definition.Get("ecsProperties").Get("taskProperties"), p.override.Get("ecsPropertiesOverride").Get("taskProperties")
	for c, o := range together(tasks.Index(0).Get("containers"), over.Index(0).Get("containers")) {
		add(plan.Requirement(c, o, kind))
	}
	return append(list, p.podShares(kind)...)
}

// podShares is what the containers of a pod ask for; an init container counts only
// where it asks for more than all of the containers that come after it.
func (p part) podShares(kind string) (list []share) {
	pod, over := p.definition.Get("eksProperties").Get("podProperties"), p.override.Get("eksPropertiesOverride").Get("podProperties")
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

// quantity is what a container of a pod may take: the larger of limit and request.
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
// name, and the overrides alone where the definition is not known. On EKS a
// container without a name is called Default.
func together(containers, overrides *jsontree.Node) iter.Seq2[*jsontree.Node, *jsontree.Node] {
	name := func(n *jsontree.Node) string { return cmp.Or(n.Get("name").Str(), "Default") }
	return func(yield func(container, over *jsontree.Node) bool) {
		for c := range containers.Children() {
			var over *jsontree.Node
			for o := range overrides.Children() {
				if name(o) == name(c) {
					over = o
				}
			}
			if !yield(c, over) {
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

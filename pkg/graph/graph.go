// Package graph draws jobs and what they wait for: as lines for a terminal, as DOT for
// Graphviz, and as SVG with a layout of its own. It is pure: the same graph gives the
// same bytes.
package graph

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/draw"
)

// NodeKind is what a node is drawn as.
type NodeKind int

// The kinds of nodes.
const (
	// Job is one job.
	Job NodeKind = iota
	// Array is a job with children; it is drawn as a stack.
	Array
	// Join is a step that only waits for others.
	Join
)

// Node is one job, array or join.
type Node struct {
	// Name is what stands on the first line. Names need not differ.
	Name string
	Kind NodeKind
	// Queue is where it goes; empty: not known, or not said.
	Queue string
	// Labels are short texts in the order in which they are read: "array of 100",
	// "matrix lr x seed, 6 cells", "1 GPU".
	Labels []string
	// Status is one of AWS Batch's job statuses; empty where nothing was submitted yet.
	Status string
	// Counts is the number of an array's children in each status.
	Counts map[string]int
	// Link is the address that a click on the node opens, for SVG and DOT; empty: none. It is
	// escaped, but not checked: the caller decides which schemes are allowed.
	Link string
	// Critical means that the node is on the critical path; MarkCritical sets it.
	Critical bool
}

// Types of edges. Any other type appears as text, and its edge looks like the usual one.
const (
	// NToN lets child i wait for child i of the other array.
	NToN = "N_TO_N"
	// Sequential lets each child wait for the one before. From a node to itself it is
	// AWS Batch's form without a job id, and no cycle.
	Sequential = "SEQUENTIAL"
	// Always starts the job once the other has ended, however it did.
	Always = "always"
	// Failure starts the job only if the other fails.
	Failure = "failure"
)

// Edge says that node To waits for node From; both are indices into Graph.Nodes.
type Edge struct {
	From, To int
	// Type is empty for the usual case: To starts when From has succeeded.
	Type string
	// Critical means that the edge is on the critical path; MarkCritical sets it.
	Critical bool
}

// Graph is jobs and what they wait for.
type Graph struct {
	// Name is the title of DOT and SVG; it may be empty.
	Name  string
	Nodes []Node
	Edges []Edge
	// CriticalNote is a text about the critical path for the legend of SVG, such as
	// "12m30s in all"; it may be empty.
	CriticalNote string
}

// link is all edges from one node to another.
type link struct {
	from, to int
	types    []string // sorted, each once; none: the usual case
	critical bool
}

// label names the types of a link, or alone where there are none.
func (l link) label(alone string) string { return cmp.Or(strings.Join(l.types, " + "), alone) }

// checked is a graph whose edges are in order.
type checked struct {
	nodes []Node
	links []link  // by to, then from
	in    [][]int // of each node: the links that end there
	out   [][]int // of each node: the links that begin there
	// order has each node behind those that it waits for.
	order []int
	// stage is the number of nodes on the longest path to each node: the first start at 0.
	stage []int
	// own are the types of the edges of nodes to themselves.
	own map[int][]string
	// queue is that of all nodes, if they have one and the same.
	queue string
	// criticalNote is the graph's, on one line.
	criticalNote string
}

// hasCritical reports whether a node is on the critical path.
func (c *checked) hasCritical() bool {
	return slices.ContainsFunc(c.nodes, func(n Node) bool { return n.Critical })
}

// check refuses edges that lead nowhere and cycles, and finds the stages.
func (g *Graph) check() (*checked, error) {
	c := &checked{nodes: g.Nodes, own: map[int][]string{}, queue: g.queue(), criticalNote: draw.OneLine(g.CriticalNote)}
	types, critical := map[[2]int][]string{}, map[[2]int]bool{}
	for _, e := range g.Edges {
		if n := len(g.Nodes); e.From < 0 || e.To < 0 || e.From >= n || e.To >= n {
			return nil, &EdgeError{Edge: e, Nodes: n}
		}
		if e.From == e.To && e.Type != Sequential {
			return nil, &CycleError{Names: []string{g.Nodes[e.From].Name}}
		}
		at := [2]int{e.From, e.To}
		critical[at] = critical[at] || e.Critical
		if e.Type != "" && !slices.Contains(types[at], e.Type) {
			types[at] = append(types[at], e.Type)
		} else if types[at] == nil {
			types[at] = []string{}
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(types),
		func(a, b [2]int) int { return cmp.Or(a[1]-b[1], a[0]-b[0]) }) {
		slices.Sort(types[at])
		if at[0] == at[1] {
			c.own[at[0]] = types[at]
			continue
		}
		c.links = append(c.links, link{from: at[0], to: at[1], types: types[at], critical: critical[at]})
	}
	c.connect()
	return c, c.sort()
}

// connect fills in and out.
func (c *checked) connect() {
	c.in, c.out = make([][]int, len(c.nodes)), make([][]int, len(c.nodes))
	for i, l := range c.links {
		c.in[l.to] = append(c.in[l.to], i)
		c.out[l.from] = append(c.out[l.from], i)
	}
}

// sort finds the order and the stages, or a cycle.
func (c *checked) sort() error {
	c.stage = make([]int, len(c.nodes))
	waits := make([]int, len(c.nodes))
	for i := range c.nodes {
		if waits[i] = len(c.in[i]); waits[i] == 0 {
			c.order = append(c.order, i)
		}
	}
	for at := 0; at < len(c.order); at++ {
		from := c.order[at]
		for _, l := range c.out[from] {
			to := c.links[l].to
			c.stage[to] = max(c.stage[to], c.stage[from]+1)
			if waits[to]--; waits[to] == 0 {
				c.order = append(c.order, to)
			}
		}
	}
	if len(c.order) == len(c.nodes) {
		return nil
	}
	return c.cycle(waits)
}

// cycle names a cycle among the nodes that still wait.
func (c *checked) cycle(waits []int) error {
	at := slices.IndexFunc(waits, func(n int) bool { return n > 0 })
	// Each of them waits for another of them, so the way back never ends, and the
	// first node that is met twice is in a cycle.
	var way []int
	for !slices.Contains(way, at) {
		way = append(way, at)
		i := slices.IndexFunc(c.in[at], func(l int) bool { return waits[c.links[l].from] > 0 })
		at = c.links[c.in[at][i]].from
	}
	way = way[slices.Index(way, at):]
	slices.Reverse(way)
	first := slices.Index(way, slices.Min(way))
	e := &CycleError{}
	for _, n := range slices.Concat(way[first:], way[:first]) {
		e.Names = append(e.Names, c.nodes[n].Name)
	}
	return e
}

// queue is the queue of all nodes, if there are several and they have the same.
func (g *Graph) queue() string {
	if len(g.Nodes) < 2 || slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Queue != g.Nodes[0].Queue }) {
		return ""
	}
	return g.Nodes[0].Queue
}

// queueOf is the text for a node's queue: empty if all nodes share it.
func (c *checked) queueOf(n Node) string {
	if n.Queue == c.queue {
		return ""
	}
	return n.Queue
}

// statuses are AWS Batch's, in the order in which counts are read: what is over comes
// first.
var statuses = []string{"SUCCEEDED", "FAILED", "RUNNING", "STARTING", "RUNNABLE", "PENDING", "SUBMITTED"}

// count is a number of children in a status.
type count struct {
	status string
	n      int
}

// counts are a node's in the order of statuses, those of others behind; none is 0.
func (n Node) counts() []count {
	var all []count
	for _, s := range statuses {
		if n.Counts[s] > 0 {
			all = append(all, count{s, n.Counts[s]})
		}
	}
	for _, s := range slices.Sorted(maps.Keys(n.Counts)) {
		if n.Counts[s] > 0 && !slices.Contains(statuses, s) {
			all = append(all, count{s, n.Counts[s]})
		}
	}
	return all
}

func (c count) String() string { return strconv.Itoa(c.n) + " " + c.status }

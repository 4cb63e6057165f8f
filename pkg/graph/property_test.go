package graph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var edgeTypes = []string{"", "", "", NToN, Sequential, Always, Failure}

// acyclic draws a graph without a cycle; its nodes are in no order. Names are n0, n1
// and so on.
func acyclic(t *rapid.T) *Graph { return acyclicUpTo(t, 24) }

// acyclicUpTo draws such a graph with at most so many nodes.
func acyclicUpTo(t *rapid.T, most int) *Graph {
	n := rapid.IntRange(0, most).Draw(t, "nodes")
	g := &Graph{Name: rapid.String().Draw(t, "name")}
	for i := range n {
		node := Node{Name: fmt.Sprintf("n%d", i), Kind: NodeKind(rapid.IntRange(0, 2).Draw(t, "kind")),
			Queue: rapid.SampledFrom([]string{"", "cpu", "gpu"}).Draw(t, "queue"), Status: rapid.SampledFrom([]string{"", "RUNNING", "other"}).Draw(t, "status")}
		if rapid.Bool().Draw(t, "labelled") {
			node.Labels = []string{"array of 100", "1 GPU"}
		}
		if node.Kind == Array && rapid.Bool().Draw(t, "counted") {
			node.Counts = map[string]int{"SUCCEEDED": 1, "FAILED": 99, "odd": 3}
		}
		g.Nodes = append(g.Nodes, node)
	}
	if n < 2 {
		return g
	}
	order := rapid.Permutation(slices.Collect(indices(n))).Draw(t, "order")
	for range rapid.IntRange(0, 3*n).Draw(t, "edges") {
		a, b := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")
		kind := rapid.SampledFrom(edgeTypes).Draw(t, "type")
		if a == b {
			kind = Sequential
		}
		g.Edges = append(g.Edges, Edge{From: order[min(a, b)], To: order[max(a, b)], Type: kind})
	}
	return g
}

func indices(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// said is the edges of a graph as "n1 n2", each once, without those to themselves.
func said(g *Graph) []string {
	var all []string
	for _, e := range g.Edges {
		if e.From != e.To {
			all = append(all, g.Nodes[e.From].Name+" "+g.Nodes[e.To].Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestTextSaysAll reads nodes and edges back from the text.
func TestTextSaysAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := acyclic(t)
		text, err := g.Text(TextOptions{ASCII: rapid.Bool().Draw(t, "ascii")})
		if err != nil {
			t.Fatal(err)
		}
		nodes, edges := readText(t, text)
		for _, n := range g.Nodes {
			if got := slices.Index(nodes, n.Name); got < 0 || slices.Contains(nodes[got+1:], n.Name) {
				t.Fatalf("%s is not there once:\n%s", n.Name, text)
			}
		}
		slices.Sort(edges)
		if !slices.Equal(edges, said(g)) {
			t.Fatalf("edges %v, want %v:\n%s", edges, said(g), text)
		}
	})
}

// readText reads nodes and edges from a text of any width. Every edge must lead from a
// line to a later one.
func readText(t *rapid.T, text string) (nodes, edges []string) {
	var above []string // by depth
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "all in ") {
			continue
		}
		at := strings.Index(line, "n")
		depth := len([]rune(line[:at])) / 3
		name, rest, _ := strings.Cut(strings.TrimSuffix(line[at:], "\n"), " ")
		after := []string{}
		if depth > 0 {
			after = append(after, above[depth-1])
		}
		if _, list, ok := strings.Cut(rest, alsoAfter); ok {
			list, _, _ = strings.Cut(list, ";")
			for other := range strings.SplitSeq(list, ", ") {
				other, _, _ = strings.Cut(other, " ")
				after = append(after, other)
			}
		}
		for _, other := range after {
			if !slices.Contains(nodes, other) {
				t.Fatalf("%s stands above %s, for which it waits:\n%s", name, other, text)
			}
			edges = append(edges, other+" "+name)
		}
		above = append(above[:depth], name)
		nodes = append(nodes, name)
	}
	return nodes, edges
}

// TestTextFits: no line is wider than it may be, each node has one, and what Style adds
// is all that it changes.
func TestTextFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := acyclic(t)
		for i := range g.Nodes {
			if rapid.Bool().Draw(t, "long") {
				g.Nodes[i].Name += strings.Repeat(rapid.SampledFrom([]string{"-ab", "名前", "\n", "é"}).Draw(t, "part"), rapid.IntRange(1, 60).Draw(t, "times"))
			}
		}
		o := TextOptions{Width: rapid.IntRange(1, 130).Draw(t, "width"), ASCII: rapid.Bool().Draw(t, "ascii")}
		plain, err := g.Text(o)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
		want := len(g.Nodes)
		if g.queue() != "" {
			want++
		}
		if got := strings.Count(plain, "\n"); got != want {
			t.Fatalf("%d lines for %d nodes:\n%s", got, len(g.Nodes), plain)
		}
		for _, line := range lines {
			if columns(line) > o.Width {
				t.Fatalf("%d columns on %d: %q", columns(line), o.Width, line)
			}
		}
		o.Style = func(role, text string) string { return "\x00" + text + "\x01" }
		styled, err := g.Text(o)
		if err != nil {
			t.Fatal(err)
		}
		if bare := strings.NewReplacer("\x00", "", "\x01", "").Replace(styled); strings.Join(strings.Fields(bare), " ") != strings.Join(strings.Fields(plain), " ") {
			t.Fatalf("styled it says\n%s\nand else\n%s", bare, plain)
		}
	})
}

// TestOrderOfEdgesIsNothing: the same edges in another order, or twice, draw the same.
func TestOrderOfEdgesIsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := acyclic(t)
		other := &Graph{Name: g.Name, Nodes: g.Nodes, Edges: slices.Concat(g.Edges, g.Edges)}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(other.Edges), func(i, j int) { other.Edges[i], other.Edges[j] = other.Edges[j], other.Edges[i] })
		for _, draw := range []func(*Graph) (string, error){
			func(g *Graph) (string, error) { return g.Text(TextOptions{Width: 80}) }, (*Graph).DOT, (*Graph).SVG} {
			a, err := draw(g)
			b, err2 := draw(other)
			if err != nil || err2 != nil || a != b {
				t.Fatalf("%v %v\n%s\n%s", err, err2, a, b)
			}
		}
	})
}

// TestCycles: a graph with a cycle is refused with one of its cycles.
func TestCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := acyclic(t)
		if len(g.Nodes) == 0 {
			return
		}
		ring := rapid.Permutation(slices.Collect(indices(len(g.Nodes)))).Draw(t, "ring")[:rapid.IntRange(1, len(g.Nodes)).Draw(t, "length")]
		for i, n := range ring {
			g.Edges = append(g.Edges, Edge{From: n, To: ring[(i+1)%len(ring)]})
		}
		_, text := g.Text(TextOptions{})
		_, dot := g.DOT()
		_, svg := g.SVG()
		for _, err := range []error{text, dot, svg} {
			cycle, ok := errors.AsType[*CycleError](err)
			if !ok || len(cycle.Names) == 0 {
				t.Fatalf("error %v", err)
			}
			for i, name := range cycle.Names {
				next := cycle.Names[(i+1)%len(cycle.Names)]
				if !slices.ContainsFunc(g.Edges, func(e Edge) bool { return g.Nodes[e.From].Name == name && g.Nodes[e.To].Name == next }) {
					t.Fatalf("%v: no edge from %s to %s", err, name, next)
				}
			}
		}
	})
}

func TestBadEdges(t *testing.T) {
	for _, c := range []struct {
		edge Edge
		want string
	}{
		{Edge{From: 0, To: 2}, "edge from node 0 to node 2: the nodes are 0 to 1"},
		{Edge{From: -1, To: 0}, "edge from node -1 to node 0: the nodes are 0 to 1"},
		{Edge{From: 1, To: 1}, "b waits for itself: remove that dependency"},
		{Edge{From: 1, To: 0}, "jobs wait for each other: a -> b -> a: remove one of these dependencies"},
	} {
		g := &Graph{Nodes: []Node{{Name: "a"}, {Name: "b"}}, Edges: []Edge{{From: 0, To: 1}, c.edge}}
		if _, err := g.SVG(); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.edge, err, c.want)
		}
	}
	if _, err := (&Graph{Edges: []Edge{{}}}).Text(TextOptions{}); err == nil || err.Error() != "edge from node 0 to node 0: there are no nodes" {
		t.Errorf("%v", err)
	}
}

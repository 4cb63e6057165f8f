package graph

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// run is a run of a graph in which each job starts when its last dependency has ended.
type run struct {
	start, stop []int64
	unsubmitted []bool // such a step ends with its last dependency
}

// runOf draws a run. Some of its steps are never submitted, if they may be.
func runOf(t *rapid.T, c *checked, unsubmitted bool) run {
	n := len(c.nodes)
	r := run{make([]int64, n), make([]int64, n), make([]bool, n)}
	for _, i := range c.order {
		for _, l := range c.in[i] {
			r.start[i] = max(r.start[i], r.stop[c.links[l].from])
		}
		if r.unsubmitted[i] = unsubmitted && rapid.IntRange(0, 3).Draw(t, "unsubmitted") == 0; r.unsubmitted[i] {
			r.stop[i] = r.start[i]
			continue
		}
		r.start[i] = max(r.start[i], begin)
		r.stop[i] = r.start[i] + int64(rapid.IntRange(1, 4).Draw(t, "duration"))
	}
	return r
}

// begin is when the first jobs of a run start.
const begin = 1000

// paths are all ways to a node along the edges, each with the node at its end.
func (c *checked) paths(to int) [][]int {
	all := [][]int{{to}}
	for _, l := range c.in[to] {
		for _, path := range c.paths(c.links[l].from) {
			all = append(all, append(slices.Clone(path), to))
		}
	}
	return all
}

// small draws a graph with few enough ways to search them all. It has marks of an earlier path.
func small(t *rapid.T) (*Graph, *checked) {
	g := acyclicUpTo(t, 7)
	for i := range g.Nodes {
		g.Nodes[i].Critical = true
	}
	for i := range g.Edges {
		g.Edges[i].Critical = true
	}
	c, err := g.check()
	if err != nil {
		t.Fatal(err)
	}
	return g, c
}

// TestCriticalPathIsLongest: where jobs wait only for each other, the critical path of a run
// takes as long as the longest of all ways through the graph.
func TestCriticalPathIsLongest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, c := small(t)
		s := runOf(t, c, false)
		times := make([]Times, len(g.Nodes))
		for i := range times {
			times[i] = Times{Created: begin, Stopped: s.stop[i]}
		}
		took := func(path []int) (sum int64) {
			for _, i := range path {
				sum += s.stop[i] - s.start[i]
			}
			return sum
		}
		var longest int64
		for i := range g.Nodes {
			for _, path := range c.paths(i) {
				longest = max(longest, took(path))
			}
		}
		path, err := g.MarkCritical(times)
		if err != nil || took(path) != longest {
			t.Fatalf("path %v takes %d, the longest %d: %v", path, took(path), longest, err)
		}
		checkMarks(t, g, path)
	})
}

// TestCriticalPathSoFar: in a run that is not over, with steps that were never submitted, the
// path is the one that a search of all ways finds.
func TestCriticalPathSoFar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, c := small(t)
		r := runOf(t, c, true)
		now := int64(begin + rapid.IntRange(0, 12).Draw(t, "now"))
		times := make([]Times, len(g.Nodes))
		var active, ended []int
		for i := range times {
			if r.unsubmitted[i] {
				continue
			}
			times[i].Created = begin
			switch {
			case r.stop[i] <= now:
				times[i].Stopped = r.stop[i]
				ended = append(ended, i)
			case r.start[i] <= now:
				active = append(active, i)
			}
		}
		path, err := g.MarkCritical(times)
		if err != nil {
			t.Fatal(err)
		}
		checkMarks(t, g, path)

		way := func(a, b int) int { return cmp.Or(cmp.Compare(c.stage[a], c.stage[b]), cmp.Compare(b, a)) }
		last := func(a, b int) int { return cmp.Or(cmp.Compare(r.stop[a], r.stop[b]), way(a, b)) }
		var want []int
		// The way whose jobs ended last, compared from the end back; a longer way beats its own part.
		search := func(end int) {
			for _, all := range c.paths(end) {
				slices.Reverse(all)
				unknown := slices.ContainsFunc(all[1:], func(i int) bool { return r.stop[i] == 0 })
				if !unknown && slices.CompareFunc(all, want, last) > 0 {
					want = all
				}
			}
			slices.Reverse(want)
		}
		switch {
		case len(active) > 0:
			search(slices.MaxFunc(active, func(a, b int) int { return cmp.Or(cmp.Compare(r.start[b], r.start[a]), way(a, b)) }))
		case len(ended) > 0:
			search(slices.MaxFunc(ended, last))
		}
		if !slices.Equal(path, want) {
			t.Fatalf("path %v, want %v of\n%v at %d", path, want, times, now)
		}
	})
}

// checkMarks compares the marks of a graph with a path.
func checkMarks(t *rapid.T, g *Graph, path []int) {
	for i, n := range g.Nodes {
		if n.Critical != slices.Contains(path, i) {
			t.Fatalf("node %d is marked %v on path %v", i, n.Critical, path)
		}
	}
	for _, e := range g.Edges {
		at := slices.Index(path, e.From)
		if want := at >= 0 && at+1 < len(path) && path[at+1] == e.To; e.Critical != want {
			t.Fatalf("edge %v on path %v", e, path)
		}
	}
	for k := 1; k < len(path); k++ {
		if !slices.ContainsFunc(g.Edges, func(e Edge) bool { return e.Critical && e.From == path[k-1] && e.To == path[k] }) {
			t.Fatalf("no edge on path %v from %d", path, path[k-1])
		}
	}
}

// TestCriticalPathCases: times that a run without failures and stops does not have.
func TestCriticalPathCases(t *testing.T) {
	for name, c := range map[string]struct {
		times []Times
		want  []int
	}{
		"stopped before its dependency ended": {[]Times{{1, 21}, {1, 5}, {1, 20}, {1, 22}}, []int{1, 2, 3}},
		"stopped before everything else":      {[]Times{{1, 30}, {1, 25}, {1, 20}, {1, 22}}, []int{0}},
		"unknown times":                       {[]Times{{}, {}, {1, 20}, {1, 22}}, []int{2, 3}},
		"a step that was not needed":          {[]Times{{1, 5}, {1, 6}, {}, {7, 9}}, []int{1, 2, 3}},
		"a step that waits":                   {[]Times{{1, 0}, {1, 6}, {}, {}}, []int{0}},
		"the one that waits longest":          {[]Times{{3, 0}, {2, 0}, {1, 0}, {1, 0}}, []int{1}},
		"equal times":                         {[]Times{{1, 5}, {1, 5}, {1, 5}, {1, 5}}, []int{0, 2, 3}},
		"no times":                            {make([]Times, 4), nil},
	} {
		g := &Graph{Nodes: make([]Node, 4), Edges: []Edge{{From: 0, To: 2}, {From: 1, To: 2}, {From: 2, To: 3}}}
		if got, err := g.MarkCritical(c.times); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v: %v", name, got, c.want, err)
		}
	}
}

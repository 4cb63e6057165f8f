package graph

import (
	"cmp"
	"math"
)

// Times are the moments of a job that determine the critical path, in milliseconds since
// 1970. Both are 0 for a node that has none: a step that was never submitted, or a job whose
// times are unknown.
type Times struct {
	// Created is when AWS Batch accepted the job.
	Created int64
	// Stopped is when the job ended; 0: it has not.
	Stopped int64
}

// MarkCritical marks the critical path, and removes earlier marks. This is the chain of jobs
// that determined when the last job ended. times has an element for each node. The path is
// returned from its first job to its last; it is empty if no node has times.
//
// The path is found from its end. That is the job that ended last. While jobs are unfinished,
// it is the one that has been active longest, which means waiting or running since its last
// dependency ended. Each step back leads to the dependency that ended last. A node without
// times ended together with its last dependency. Of equal times, those of the job with the
// longer way to it count.
//
// The error is a *CycleError or an *EdgeError.
func (g *Graph) MarkCritical(times []Times) ([]int, error) {
	c, err := g.check()
	if err != nil {
		return nil, err
	}
	p := &pathFinder{checked: c, times: times, end: make([]int64, len(g.Nodes)), pending: make([]bool, len(g.Nodes))}
	path := p.back(p.last())
	for i := range g.Nodes {
		g.Nodes[i].Critical = false
	}
	next := map[int]int{} // of each job on the path but the last
	for k, i := range path {
		g.Nodes[i].Critical = true
		if k > 0 {
			next[path[k-1]] = i
		}
	}
	for i, e := range g.Edges {
		to, onPath := next[e.From]
		g.Edges[i].Critical = onPath && to == e.To
	}
	return path, nil
}

// pathFinder finds the critical path of a graph.
type pathFinder struct {
	*checked
	times []Times
	// end is when each node ended; 0 for pending nodes, and where the moment is unknown.
	end []int64
	// pending nodes are unfinished, or have no times and wait for an unfinished node.
	pending []bool
}

// last fills end and pending, and returns the last node of the path; -1 if there is none.
func (p *pathFinder) last() int {
	ended, active := -1, -1
	since := make([]int64, len(p.nodes)) // when the last dependency ended
	for _, i := range p.order {
		blocked := false
		for _, l := range p.in[i] {
			from := p.links[l].from
			blocked = blocked || p.pending[from]
			since[i] = max(since[i], p.end[from])
		}
		switch t := p.times[i]; {
		case t == Times{}:
			if p.pending[i] = blocked; !blocked {
				p.end[i] = since[i]
			}
		case t.Stopped > 0:
			p.end[i] = t.Stopped
			if ended < 0 || p.later(i, ended) {
				ended = i
			}
		default:
			p.pending[i] = true
			since[i] = max(since[i], t.Created)
			if !blocked && (active < 0 || cmp.Or(cmp.Compare(since[active], since[i]), p.compareWays(i, active)) > 0) {
				active = i
			}
		}
	}
	if active >= 0 {
		return active
	}
	return ended
}

// back returns the path that ends with a node.
func (p *pathFinder) back(at int) []int {
	if at < 0 {
		return nil
	}
	before, limit := -1, p.end[at]
	if p.pending[at] {
		limit = math.MaxInt64
	}
	for _, l := range p.in[at] {
		from := p.links[l].from
		// A job that ended later was not waited for: the one that depends on it was stopped before.
		if p.end[from] > 0 && p.end[from] <= limit && (before < 0 || p.later(from, before)) {
			before = from
		}
	}
	return append(p.back(before), at)
}

// later reports whether node a comes before node b as the one that ended last.
func (p *pathFinder) later(a, b int) bool {
	return cmp.Or(cmp.Compare(p.end[a], p.end[b]), p.compareWays(a, b)) > 0
}

// compareWays orders nodes with equal times: the longer way to a node wins, then the lower index.
func (p *pathFinder) compareWays(a, b int) int {
	return cmp.Or(cmp.Compare(p.stage[a], p.stage[b]), cmp.Compare(b, a))
}

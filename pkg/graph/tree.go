package graph

import (
	"cmp"
	"slices"
)

// branch is a node in its place in the tree of the text.
type branch struct {
	node  int
	under int // the link by which it stands below its parent; -1: it waits for none
	also  []int
	below []*branch
}

// tree puts each node once, below the last of those that it waits for, so that all of
// them stand above it and the text can be read from top to bottom as it will happen.
// Where there is a choice, what leads on least comes first: then the last of those that
// a node waits for is most often the one with the longest way to it.
func (c *checked) tree() []*branch {
	waits := make([]int, len(c.nodes))
	for i := range c.nodes {
		waits[i] = len(c.in[i])
	}
	reach := c.reach()
	byReach := func(a, b int) int { return cmp.Or(reach[a]-reach[b], a-b) }

	var plant func(node, under int) *branch
	plant = func(node, under int) *branch {
		b := &branch{node: node, under: under}
		for _, l := range c.in[node] {
			if l != under {
				b.also = append(b.also, l)
			}
		}
		var ready []int
		for _, l := range c.out[node] {
			if to := c.links[l].to; waits[to] == 1 {
				ready = append(ready, l)
			} else {
				waits[to]--
			}
		}
		slices.SortStableFunc(ready, func(k, l int) int { return byReach(c.links[k].to, c.links[l].to) })
		for _, l := range ready {
			b.below = append(b.below, plant(c.links[l].to, l))
		}
		return b
	}
	var roots []*branch
	var starts []int
	for i := range c.nodes {
		if len(c.in[i]) == 0 {
			starts = append(starts, i)
		}
	}
	slices.SortStableFunc(starts, byReach)
	for _, i := range starts {
		roots = append(roots, plant(i, -1))
	}
	return roots
}

// reach is the length of the longest way on from each node.
func (c *checked) reach() []int {
	reach := make([]int, len(c.nodes))
	for _, n := range slices.Backward(c.order) {
		for _, l := range c.out[n] {
			reach[n] = max(reach[n], reach[c.links[l].to]+1)
		}
	}
	return reach
}

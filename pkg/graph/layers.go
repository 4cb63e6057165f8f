package graph

import (
	"cmp"
	"slices"
)

// slot is a place in a layer: a node, or the passage of an edge to a later layer.
type slot struct {
	node          int // -1: a passage
	layer         int
	before, after []int // the slots that it is joined to in the layers beside it
	pos           int   // in its layer
	height        int   // tenths of a pixel
	below         int   // what hangs down below that: the stack of an array
	centre        int   // tenths of a pixel from the top
}

// layered is the nodes that edges join, in layers: that of a node is its stage, so all
// edges lead from left to right, and each step of one to the next layer.
type layered struct {
	slots  []slot
	layers [][]int
	// ways are the slots of each link, from its node to its node; nil for links of
	// other parts.
	ways map[int][]int
}

// layer puts the nodes of one part into layers, with the heights of their boxes.
func (c *checked) layer(part []int, boxes []box) *layered {
	l := &layered{ways: map[int][]int{}}
	at := map[int]int{}
	for _, n := range part {
		at[n] = l.add(slot{node: n, layer: c.stage[n], height: boxes[n].height, below: boxes[n].below})
	}
	for _, n := range part {
		for _, i := range c.out[n] {
			to := c.links[i].to
			way := []int{at[n]}
			for layer := c.stage[n] + 1; layer < c.stage[to]; layer++ {
				way = append(way, l.add(slot{node: -1, layer: layer, height: passage}))
			}
			way = append(way, at[to])
			for k, s := range way[1:] {
				l.slots[way[k]].after = append(l.slots[way[k]].after, s)
				l.slots[s].before = append(l.slots[s].before, way[k])
			}
			l.ways[i] = way
		}
	}
	l.begin()
	l.untangle()
	return l
}

// add makes a slot.
func (l *layered) add(s slot) int {
	l.slots = append(l.slots, s)
	return len(l.slots) - 1
}

// begin puts the slots into their layers in the order in which a walk along the edges
// meets them, so that what belongs together is together.
func (l *layered) begin() {
	seen := make([]bool, len(l.slots))
	var walk func(s int)
	walk = func(s int) {
		if seen[s] {
			return
		}
		seen[s] = true
		for len(l.layers) <= l.slots[s].layer {
			l.layers = append(l.layers, nil)
		}
		l.layers[l.slots[s].layer] = append(l.layers[l.slots[s].layer], s)
		for _, next := range l.slots[s].after {
			walk(next)
		}
	}
	for s := range l.slots {
		if len(l.slots[s].before) == 0 {
			walk(s)
		}
	}
	l.number()
}

// number notes where each slot stands.
func (l *layered) number() {
	for _, layer := range l.layers {
		for i, s := range layer {
			l.slots[s].pos = i
		}
	}
}

// sweeps is how often the layers are put in order. More of them change little in
// graphs of a few hundred nodes.
const sweeps = 12

// untangle sorts each layer by where the slots beside it stand on average, from left to
// right and back again, and keeps the order with the fewest crossings.
func (l *layered) untangle() {
	best, fewest := l.copied(), l.crossings()
	for i := range sweeps {
		if fewest == 0 {
			break
		}
		if i%2 == 0 {
			for _, layer := range l.layers[1:] {
				l.sort(layer, func(s int) []int { return l.slots[s].before })
			}
		} else {
			for _, layer := range slices.Backward(l.layers[:len(l.layers)-1]) {
				l.sort(layer, func(s int) []int { return l.slots[s].after })
			}
		}
		l.swap()
		if n := l.crossings(); n < fewest {
			best, fewest = l.copied(), n
		}
	}
	l.layers = best
	l.number()
}

func (l *layered) copied() [][]int {
	all := make([][]int, len(l.layers))
	for i, layer := range l.layers {
		all[i] = slices.Clone(layer)
	}
	return all
}

// sort puts a layer in the order of the mean positions of the slots that neighbours
// returns. Slots without neighbours keep their positions.
func (l *layered) sort(layer []int, neighbours func(s int) []int) {
	// The mean as a fraction: floating point could differ between machines.
	type mean struct{ sum, n int }
	means := map[int]mean{}
	for _, s := range layer {
		m := mean{sum: l.slots[s].pos, n: 1}
		if near := neighbours(s); len(near) > 0 {
			m = mean{n: len(near)}
			for _, other := range near {
				m.sum += l.slots[other].pos
			}
		}
		means[s] = m
	}
	slices.SortStableFunc(layer, func(a, b int) int {
		return cmp.Compare(means[a].sum*means[b].n, means[b].sum*means[a].n)
	})
	for i, s := range layer {
		l.slots[s].pos = i
	}
}

// swap exchanges neighbours in a layer as long as that saves crossings: sorting by
// means leaves such pairs.
func (l *layered) swap() {
	for _, layer := range l.layers {
		for i := 1; i < len(layer); i++ {
			a, b := layer[i-1], layer[i]
			if l.between(b, a) < l.between(a, b) {
				layer[i-1], layer[i] = b, a
				l.slots[b].pos, l.slots[a].pos = i-1, i
			}
		}
	}
}

// between is the number of crossings of the edges of a with those of b, where a stands
// above b.
func (l *layered) between(a, b int) int {
	n := 0
	for _, side := range [][2][]int{{l.slots[a].before, l.slots[b].before}, {l.slots[a].after, l.slots[b].after}} {
		for _, p := range side[0] {
			for _, q := range side[1] {
				if l.slots[p].pos > l.slots[q].pos {
					n++
				}
			}
		}
	}
	return n
}

// crossings is the number of crossings in all.
func (l *layered) crossings() int {
	n := 0
	for i, layer := range l.layers {
		if i+1 == len(l.layers) {
			break
		}
		// Read from top to bottom, an edge crosses those before it that end lower.
		ends := newTally(len(l.layers[i+1]))
		for _, s := range layer {
			for _, to := range l.slots[s].after {
				n += ends.above(l.slots[to].pos)
			}
			for _, to := range l.slots[s].after {
				ends.add(l.slots[to].pos)
			}
		}
	}
	return n
}

// tally counts positions and knows quickly how many are above one: a Fenwick tree.
type tally struct {
	sums  []int
	total int
}

func newTally(n int) *tally { return &tally{sums: make([]int, n+1)} }

func (t *tally) add(pos int) {
	t.total++
	for i := pos + 1; i < len(t.sums); i += i & -i {
		t.sums[i]++
	}
}

// above is how many are larger than pos.
func (t *tally) above(pos int) int {
	n := t.total
	for i := pos + 1; i > 0; i -= i & -i {
		n -= t.sums[i]
	}
	return n
}

package graph

// Distances in tenths of a pixel, the unit of the layout. It is whole numbers, so that
// every machine draws the same.
const (
	pixel    = 10
	passage  = 6 * pixel  // the height of an edge that passes a layer
	nodeGap  = 14 * pixel // between two boxes of a layer
	wayGap   = 6 * pixel  // where one of them is a passage
	straight = 8          // how much more it counts to keep long edges straight
)

// pulls is how often the layers are moved towards their neighbours.
const pulls = 16

// place sets the vertical position of every slot. It is as near to the mean of the joined slots
// as the order of the layer and the distances allow.
func (l *layered) place() {
	for _, layer := range l.layers {
		top := 0
		for i, s := range layer {
			if i > 0 {
				top += l.gap(layer[i-1], s)
			}
			l.slots[s].centre = top + l.slots[s].height/2
			top += l.slots[s].height
		}
	}
	for i := range pulls {
		left, right := true, true
		if i < pulls-4 { // in turns first, so that a move goes through all layers
			left, right = i%2 == 0, i%2 == 1
		}
		for k := range l.layers {
			if right && !left {
				k = len(l.layers) - 1 - k
			}
			l.pull(l.layers[k], left, right)
		}
	}
	l.settle()
}

// gap is how far apart two neighbours in a layer are.
func (l *layered) gap(a, b int) int {
	if l.slots[a].node < 0 || l.slots[b].node < 0 {
		return wayGap + l.slots[a].below
	}
	return nodeGap + l.slots[a].below
}

// settle moves all slots so that the highest begins at 0.
func (l *layered) settle() {
	top := l.slots[0].centre - l.slots[0].height/2
	for _, s := range l.slots {
		top = min(top, s.centre-s.height/2)
	}
	for i := range l.slots {
		l.slots[i].centre -= top
	}
}

// block is neighbours of a layer that touch each other: they move as one.
type block struct{ sum, weight, n int }

func (b block) mean() int {
	if b.sum < 0 {
		return -((-b.sum + b.weight/2) / b.weight)
	}
	return (b.sum + b.weight/2) / b.weight
}

// pull moves the slots of a layer towards those on their left, their right, or both.
// Of all places that keep order and distances it takes those whose squared distances
// from what is wanted are least: a slot is wanted at the mean of its neighbours, and
// those that would overlap are put side by side around the mean of what they want
// ("pool adjacent violators").
func (l *layered) pull(layer []int, left, right bool) {
	var blocks []block
	offset := 0
	offsets := make([]int, len(layer))
	for i, s := range layer {
		if i > 0 {
			before := layer[i-1]
			offset += (l.slots[before].height+1)/2 + l.gap(before, s) + (l.slots[s].height+1)/2
		}
		offsets[i] = offset
		sum, weight := l.wanted(s, left, right)
		blocks = append(blocks, block{sum: sum - offset*weight, weight: weight, n: 1})
		for k := len(blocks) - 1; k > 0 && blocks[k-1].mean() > blocks[k].mean(); k-- {
			a, b := blocks[k-1], blocks[k]
			blocks = append(blocks[:k-1], block{a.sum + b.sum, a.weight + b.weight, a.n + b.n})
		}
	}
	i := 0
	for _, b := range blocks {
		at := b.mean()
		for range b.n {
			l.slots[layer[i]].centre = at + offsets[i]
			i++
		}
	}
}

// wanted is where a slot would stand best, as a sum of places, and how much that counts.
func (l *layered) wanted(s int, left, right bool) (sum, weight int) {
	for _, side := range []struct {
		use  bool
		near []int
	}{{left, l.slots[s].before}, {right, l.slots[s].after}} {
		if !side.use {
			continue
		}
		for _, other := range side.near {
			w := 2
			if l.slots[s].node < 0 || l.slots[other].node < 0 {
				w = straight
			}
			if l.slots[s].node < 0 && l.slots[other].node < 0 {
				w = 4 * straight
			}
			sum, weight = sum+w*l.slots[other].centre, weight+w
		}
	}
	if weight == 0 {
		return l.slots[s].centre, 1 // nothing there: it stays, if the others let it
	}
	return sum, weight
}

package graph

import (
	"math"
	"slices"
)

// Distances of the page in tenths of a pixel.
const (
	margin      = 240
	partGap     = 320
	leastColumn = 520  // between two columns
	mostColumn  = 2200 // and where its edges are steepest
	pageWidth   = 9000 // to which single jobs are laid out at least
)

// point is a place on the page, in tenths of a pixel.
type point struct{ x, y int }

// layout is where everything stands.
type layout struct {
	*checked
	boxes []box
	at    []point // the upper left corner of each box
	// ways are where each link goes: from a box through the columns to another. Between
	// an even point and the next it bends, from there to the next even one it is straight.
	ways          [][]point
	width, height int
}

// arrange puts the parts of a graph below each other, and all nodes that nothing joins
// into a grid at the end.
func (c *checked) arrange() *layout {
	n := len(c.nodes)
	d := &layout{checked: c, boxes: make([]box, n), at: make([]point, n), ways: make([][]point, len(c.links))}
	for i := range c.nodes {
		d.boxes[i] = c.box(i)
	}
	var singles []int
	for _, part := range c.parts() {
		if len(part) == 1 {
			singles = append(singles, part[0])
			continue
		}
		d.skip()
		d.part(part)
	}
	if len(singles) > 0 {
		d.skip()
		d.grid(singles)
	}
	return d
}

// skip leaves room below what is there.
func (d *layout) skip() {
	if d.height > 0 {
		d.height += partGap
	}
}

// parts are the nodes that edges join, however they lead; in the order of the nodes.
func (c *checked) parts() [][]int {
	of := make([]int, len(c.nodes))
	for i := range of {
		of[i] = -1
	}
	var parts [][]int
	for i := range c.nodes {
		if of[i] >= 0 {
			continue
		}
		of[i] = len(parts)
		part := []int{i}
		for at := 0; at < len(part); at++ {
			for _, l := range slices.Concat(c.in[part[at]], c.out[part[at]]) {
				for _, other := range []int{c.links[l].from, c.links[l].to} {
					if of[other] < 0 {
						of[other] = len(parts)
						part = append(part, other)
					}
				}
			}
		}
		slices.Sort(part)
		parts = append(parts, part)
	}
	return parts
}

// part lays out nodes that edges join.
func (d *layout) part(nodes []int) {
	l := d.layer(nodes, d.boxes)
	l.place()
	lefts, widths := d.columnsOf(l)
	bottom := 0
	for _, s := range l.slots {
		bottom = max(bottom, s.centre+s.height/2+s.below)
		if s.node >= 0 {
			d.boxes[s.node].width = widths[s.layer]
			d.at[s.node] = point{lefts[s.layer], d.height + s.centre - s.height/2}
		}
	}
	ports := l.ports()
	for _, n := range nodes {
		for _, link := range d.out[n] {
			d.ways[link] = d.way(l, l.ways[link], ports[link], lefts, widths)
		}
	}
	last := len(lefts) - 1
	d.width = max(d.width, lefts[last]+widths[last]+2*stackStep)
	d.height += bottom
}

// columnsOf is where each layer begins and how wide it is.
func (d *layout) columnsOf(l *layered) (lefts, widths []int) {
	left := 0
	for _, layer := range l.layers {
		width, steepest := 0, 0
		for _, s := range layer {
			if n := l.slots[s].node; n >= 0 {
				width = max(width, d.boxes[n].width)
			}
			for _, next := range l.slots[s].after {
				steepest = max(steepest, abs(l.slots[next].centre-l.slots[s].centre))
			}
		}
		lefts, widths = append(lefts, left), append(widths, width)
		left += width + min(leastColumn+steepest/12, mostColumn)
	}
	return lefts, widths
}

func abs(n int) int { return max(n, -n) }

// ends are how far from the middle of its boxes an edge begins and ends.
type ends struct{ from, to int }

// portGap is how far apart the edges of one side of a box are, if it has room.
const portGap = 90

// ports spreads the edges of each box over its sides, in the order in which they come,
// so that they do not cross in front of it.
func (l *layered) ports() map[int]ends {
	out, in := map[int][]int{}, map[int][]int{}
	links := make([]int, 0, len(l.ways))
	for link := range l.ways {
		links = append(links, link)
	}
	slices.Sort(links)
	for _, link := range links {
		way := l.ways[link]
		out[way[0]] = append(out[way[0]], link)
		in[way[len(way)-1]] = append(in[way[len(way)-1]], link)
	}
	ports := map[int]ends{}
	spread := func(s int, links []int, next func(way []int) int, set func(link, offset int)) {
		slices.SortStableFunc(links, func(a,
			b int) int {
			return l.slots[next(l.ways[a])].centre - l.slots[next(l.ways[b])].centre
		})
		step := min(portGap, (l.slots[s].height-2*padding)/len(links))
		for i, link := range links {
			set(link, (2*i-len(links)+1)*step/2)
		}
	}
	for s, links := range out {
		spread(s, links, func(way []int) int { return way[1] }, func(link,
			offset int) {
			ports[link] = ends{offset, ports[link].to}
		})
	}
	for s, links := range in {
		spread(s, links, func(way []int) int { return way[len(way)-2] },
			func(link, offset int) { ports[link] = ends{ports[link].from, offset} })
	}
	return ports
}

// way is the points of one edge.
func (d *layout) way(l *layered, slots []int, port ends, lefts, widths []int) []point {
	var all []point
	for i, s := range slots {
		v := l.slots[s]
		y := d.height + v.centre
		switch i {
		case 0:
			all = append(all, point{lefts[v.layer] + widths[v.layer], y + port.from})
		case len(slots) - 1:
			all = append(all, point{lefts[v.layer], y + port.to})
		default:
			all = append(all, point{lefts[v.layer], y}, point{lefts[v.layer] + widths[v.layer], y})
		}
	}
	return all
}

// grid lays out nodes that nothing joins, row by row.
func (d *layout) grid(nodes []int) {
	const gap = 160
	width, height := 0, 0
	for _, n := range nodes {
		width, height = max(width, d.boxes[n].width), max(height, d.boxes[n].height+d.boxes[n].below)
	}
	// As wide as what is above, and never a narrow strip.
	across := max(1, (max(d.width, pageWidth)+gap)/(width+gap))
	across = max(across, int(math.Sqrt(float64(len(nodes)*height*2/width))))
	top, row := d.height, 0
	for i, n := range nodes {
		if i > 0 && i%across == 0 {
			top, row = top+row+nodeGap, 0
		}
		d.boxes[n].width = width
		d.at[n] = point{i % across * (width + gap), top}
		row = max(row, d.boxes[n].height+d.boxes[n].below)
		d.width = max(d.width, d.at[n].x+width+2*stackStep)
	}
	d.height = top + row
}

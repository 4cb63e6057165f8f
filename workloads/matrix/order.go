package matrix

import (
	"slices"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// order is the order of the copies and products on a card that holds all of A, B and C. Strips of A
// and B are copied in alternately, so that the part of C that they allow grows with both. Every product
// has the full depth, so that its elements do not depend on the order.
type order struct {
	copies   []strip
	products []task
}

// strip is rows of A or columns of B, from low up to high, that are copied in together.
type strip struct {
	ofB       bool
	low, high int
}

func (s strip) size() int { return s.high - s.low }

// task is the product of rows of A and one strip of B: a rectangle of C. It needs the first copies
// of the order, as many as loaded.
type task struct {
	rectangle
	// panel counts the strips of B.
	panel, loaded int
}

// operationsPerByte is how much a card is assumed to compute while it copies a byte. Both rates are
// unknown before the first run, and a measurement would make the order, and with it the figures,
// depend on chance. These are the rates of an H200: those of its kernels in FIGURES.md without
// blockOverhead, over 55 GB/s. Links have become faster together with the arithmetic: by their data
// sheets a V100 and an A100 have 1250 and 780 in float32. A card that computes less in that time gets
// a first product earlier than it needs, which costs little.
var operationsPerByte = map[gpu.Precision]float64{gpu.Float32: 1030, gpu.Float64: 1230, gpu.TF32: 7050,
	gpu.BFloat16: 14700}

const (
	// copyOverhead is the time to start a copy, some 5 microseconds, in bytes copied in that time.
	copyOverhead = 256 << 10
	// kernelWeight is what a saving in the kernels' time counts, where one in the whole counts 1.
	// Smaller products start earlier, but lose rate, and the rows report the kernels' rate as well.
	kernelWeight = 0.75
	// leastGain is the part of the cost that an order has to save, else the streamed plan is kept.
	leastGain = 0.01
)

// rates are the times of a card's work, all in one unit.
type rates struct {
	// round is the time of a round of tiles.
	round float64
	// perByte is the time to copy a byte, in either direction, and perCopy the time to start a copy.
	perByte, perCopy float64
}

// expectedRates are the rates in rounds of tiles.
func (p plan) expectedRates(kind gpu.Precision, atOnce int) rates {
	operations := 2 * float64(tile*tile) * float64(p.depth) * float64(atOnce)
	perByte := operationsPerByte[kind] / operations
	return rates{round: 1, perByte: perByte, perCopy: copyOverhead * perByte}
}

// timeline computes when a card is done. It copies in, computes and copies out at the same time, but
// does one of each after the other.
type timeline struct {
	rates
	width int64
	// atOnce is the number of tiles in a round.
	atOnce           int
	in, compute, out float64
	// kernels is the time of the products alone.
	kernels float64
}

func (t *timeline) copyIn(rows, cols int) {
	t.in += t.copyTime(rows, cols)
}

// multiply adds a product that may start at a time, and the copy of its result.
func (t *timeline) multiply(rows, cols int, ready float64) {
	kernel := t.round * rounds(divide(rows, tile)*divide(cols, tile), t.atOnce)
	t.kernels += kernel
	t.compute = max(t.compute, ready) + kernel
	t.out = max(t.out, t.compute) + t.copyTime(rows, cols)
}

func (t *timeline) copyTime(rows, cols int) float64 {
	return t.perCopy + t.perByte*float64(int64(rows)*int64(cols)*t.width)
}

// cost compares orders.
func (t *timeline) cost() float64 { return t.out + kernelWeight*t.kernels }

// rounds is the time of a product of so many tiles, in rounds.
func rounds(tiles, atOnce int) float64 { return float64(divide(tiles, atOnce)) + blockOverhead }

// timeline is an empty one for a card with the rates.
func (p plan) timeline(r rates, atOnce int) timeline {
	return timeline{rates: r, width: p.width, atOnce: atOnce}
}

// streamed is the timeline of the streamed plan.
func (p plan) streamed(r rates, atOnce int) timeline {
	t := p.timeline(r, atOnce)
	var free []float64 // when the slot of each block is free again
	for left := 0; left < p.cols; left += p.panel {
		cols := min(p.panel, p.cols-left)
		t.in = max(t.in, t.compute)
		t.copyIn(p.depth, cols)
		for top := p.low; top < p.high; top += p.block {
			if len(free) >= slotCount {
				t.in = max(t.in, free[len(free)-slotCount])
			}
			rows := min(p.block, p.high-top)
			t.copyIn(rows, p.depth)
			t.multiply(rows, cols, t.in)
			free = append(free, t.out)
		}
	}
	return t
}

// residentBytes is the card memory for the card's rows of A and C, and for B.
func (p plan) residentBytes() int64 {
	rows, cols, depth := int64(p.rows()), int64(p.cols), int64(p.depth)
	return p.width * (rows*depth + depth*cols + rows*cols)
}

// order returns the best order of the candidates. It is nil if the matrices do not fit the budget, or
// if the streamed plan is about as good.
func (p plan) order(kind gpu.Precision, b budget) *order {
	if p.rows() == 0 || p.residentBytes() > b.bytes {
		return nil
	}
	atOnce := tilesAtOnce * max(1, b.card.Multiprocessors)
	r := p.expectedRates(kind, atOnce)
	streamed := p.streamed(r, atOnce)
	var best *order
	lowest := (1 - leastGain) * streamed.cost()
	for _, d := range p.divisions(atOnce) {
		copies := d.copies(p)
		for _, most := range []float64{1, 1 / 1.5, 0.5} {
			o, t := p.arrange(copies, most, p.timeline(r, atOnce))
			if cost := t.cost(); cost < lowest {
				best, lowest = &o, cost
			}
		}
	}
	return best
}

// division is the sizes of the strips of A and of B, in tiles, in their order. The next copy is of A
// while the part of A on the card is at most lead times that of B.
type division struct {
	ofA, ofB []int
	lead     float64
}

// divisions are the candidates.
func (p plan) divisions(atOnce int) []division {
	rows, cols := divide(p.rows(), tile), divide(p.cols, tile)
	var all []division
	for _, first := range firstStrips(cols) {
		for _, ofB := range stripsOfB(first, cols-first) {
			for _, ofA := range stripsOfA(rows, first, atOnce) {
				for _, lead := range []float64{1, 1.5, 2} {
					all = append(all, division{ofA, ofB, lead})
				}
			}
		}
	}
	return all
}

// firstStrips are the sizes of the first strip of B, which the first products use while A is copied:
// from a tenth of B to three quarters, and all of it.
func firstStrips(cols int) []int {
	all := []int{cols}
	for n := 4; n <= 30; n++ {
		all = append(all, max(1, cols*n/40))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// stripsOfB are divisions of B after its first strip: into one to three equal ones, or each half of
// what is left.
func stripsOfB(first, rest int) [][]int {
	if rest == 0 {
		return [][]int{{first}}
	}
	var all [][]int
	for n := 1; n <= min(3, rest); n++ {
		all = append(all, append([]int{first}, equalStrips(rest, n)...))
	}
	const least = 8
	if rest <= least {
		return all
	}
	halves := []int{first}
	for rest > 0 {
		size := divide(rest, 2)
		if rest <= least {
			size = rest
		}
		halves = append(halves, size)
		rest -= size
	}
	return append(all, halves)
}

// stripsOfA are divisions of A. Each strip makes half a round of tiles with the first strip of B, or
// one, two or three: all about equal, or full ones and a last one in two parts, which makes the last
// product and the copy of its result short.
func stripsOfA(rows, first, atOnce int) [][]int {
	all := [][]int{{rows}}
	for _, halfRounds := range []int{1, 2, 4, 6} {
		size := halfRounds * atOnce / 2 / first
		if size == 0 || size >= rows {
			continue
		}
		all = append(all, equalStrips(rows, divide(rows, size)))
		var full []int
		left := rows
		for ; left > size; left -= size {
			full = append(full, size)
		}
		if end := left / 3; end > 0 {
			all = append(all, append(full, left-end, end))
		}
	}
	return all
}

// equalStrips divides a length into n strips whose sizes differ by at most 1.
func equalStrips(length, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = (i+1)*length/n - i*length/n
	}
	return all
}

// copies returns the strips in the order of their copies.
func (d division) copies(p plan) []strip {
	all := make([]strip, 0, len(d.ofA)+len(d.ofB))
	ofA, ofB := d.ofA, d.ofB
	top, left := p.low, 0
	for len(ofA) > 0 || len(ofB) > 0 {
		partOfA, partOfB := float64(top-p.low)/float64(p.rows()), float64(left)/float64(p.cols)
		if len(ofB) == 0 || len(ofA) > 0 && partOfA <= d.lead*partOfB {
			next := min(p.high, top+ofA[0]*tile)
			all = append(all, strip{false, top, next})
			top, ofA = next, ofA[1:]
			continue
		}
		next := min(p.cols, left+ofB[0]*tile)
		all = append(all, strip{true, left, next})
		left, ofB = next, ofB[1:]
	}
	return all
}

// panel is a strip of B on the card; next is the first row of A that it has to be multiplied by.
type panel struct {
	strip
	next int
}

// allowed is the tiles of the product of a panel and the rows of A up to bottom.
func (b panel) allowed(bottom int) int {
	return divide(bottom-b.next, tile) * divide(b.size(), tile)
}

// arrange decides the products on the timeline. When the last product is done, it takes the largest
// that the strips on the card allow, or waits for a strip if that is less than half a round. A product
// takes at most the given part of the remaining tiles, so that the last ones are short, but may always
// take a round.
func (p plan) arrange(copies []strip, most float64, t timeline) (order, timeline) {
	o := order{copies: copies}
	arrivals := make([]float64, len(copies))
	for i, s := range copies {
		t.copyIn(s.size(), p.depth)
		arrivals[i] = t.in
	}
	var panels []panel
	loaded, bottom := 0, p.low
	for left := divide(p.rows(), tile) * divide(p.cols, tile); left > 0; {
		for ; loaded < len(copies) && arrivals[loaded] <= t.compute; loaded++ {
			if s := copies[loaded]; s.ofB {
				panels = append(panels, panel{s, p.low})
			} else {
				bottom = s.high
			}
		}
		largest, tiles := 0, 0
		for i, b := range panels {
			if n := b.allowed(bottom); n > tiles {
				largest, tiles = i, n
			}
		}
		if loaded < len(copies) && 2*tiles < t.atOnce {
			t.compute = arrivals[loaded]
			continue
		}
		b := &panels[largest]
		cols := divide(b.size(), tile)
		rows := efficientRows(tiles/cols, cols, max(t.atOnce, int(most*float64(left))), t.atOnce)
		end := min(bottom, b.next+rows*tile)
		o.products = append(o.products, task{rectangle{b.next, end, b.low, b.high}, largest, loaded})
		t.multiply(end-b.next, b.size(), t.compute)
		b.next = end
		left -= rows * cols
	}
	return o, t
}

// efficientRows reduces a product's rows of tiles: to the limit of its tiles, and then to full rounds
// if each tile takes less time so.
func efficientRows(rows, cols, limit, atOnce int) int {
	rows = min(rows, max(1, limit/cols))
	full := rows * cols / atOnce * atOnce / cols
	perTile := func(rows int) float64 { return rounds(rows*cols, atOnce) / float64(rows*cols) }
	if full > 0 && perTile(full) < perTile(rows) {
		return full
	}
	return rows
}

package matrix

import (
	"errors"
	"fmt"
	"math"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

const (
	// slotCount is the number of blocks on a card at a time: one is copied in, one is computed and
	// one is copied out.
	slotCount = 3
	// tile is the rows and columns of a tile of C. It is the smallest block.
	tile = 128
	// tilesAtOnce is the number of tiles that one multiprocessor computes at a time. The fast
	// kernels compute two small tiles beside each other, or one of twice the size.
	tilesAtOnce = 2
	// blockOverhead is the time to start and to end a block's kernel, in rounds of tiles.
	blockOverhead = 0.25
)

// plan is how one card computes its rows of C = A B: for each panel of columns of B, all
// of its rows in blocks.
type plan struct {
	// The card computes the rows of A and C from low up to high.
	low, high   int
	depth, cols int
	width       int64
	// block is the rows of A and C, and panel the columns of B, that are on the card at
	// a time.
	block, panel int
}

// bytes is the card memory that the plan takes.
func (p plan) bytes() int64 {
	return p.width * (int64(p.depth)*int64(p.panel) + p.slots()*(p.blockA()+p.blockC()))
}

// blockA and blockC are the elements of a block of A and of C.
func (p plan) blockA() int64 { return int64(p.block) * int64(p.depth) }

func (p plan) blockC() int64 { return int64(p.block) * int64(p.panel) }

func (p plan) rows() int { return p.high - p.low }

func (p plan) slots() int64 {
	if p.rows() == 0 {
		return 0
	}
	blocks := int64(divide(p.rows(), p.block)) * int64(divide(p.cols, p.panel))
	return min(slotCount, blocks)
}

// panelled is whether B, and with it C, is cut into columns.
func (p plan) panelled() bool { return p.rows() > 0 && p.panel < p.cols }

// budget is a card and the bytes of its memory that a plan may take.
type budget struct {
	card  gpu.Info
	bytes int64
}

// plansFor divides a square product among the cards. The error names the card whose memory is too
// small, and a size that fits.
func plansFor(p product, budgets []budget) ([]plan, error) {
	all := make([]plan, len(budgets))
	for i, r := range budgets {
		var err error
		if all[i], err = planFor(p, i, len(budgets), r); err == nil {
			continue
		}
		fits := func(size int) bool {
			_, err := planFor(product{p.kind, size}, i, len(budgets), r)
			return err == nil
		}
		card := measure.Memory{Bytes: r.bytes, Source: fmt.Sprintf("GPU %d (%s)", r.card.Ordinal, r.card.Name)}
		return nil, card.Check(p.String()+" multiplication, even in the smallest blocks,", all[i].bytes(),
			fitting(p.size, fits, "choose a GPU with more memory"))
	}
	return all, nil
}

// planFor is the plan of the i-th of n cards.
func planFor(p product, i, n int, r budget) (plan, error) {
	all := plan{low: i * p.size / n, high: (i + 1) * p.size / n, depth: p.size, cols: p.size, width: p.kind.Bytes()}
	if all.rows() == 0 {
		return all, nil
	}
	all.block, all.panel = all.fastestBlock(r.card.Multiprocessors), all.cols
	return all.fit(r.bytes)
}

// fastestBlock returns the rows of a block for which the whole takes the shortest time. All
// multiprocessors start a round of tiles together, and in the last round of each block some are
// idle: 1.1 rounds take as long as 2. Nothing is computed during the first copy in and the last
// copy out, which are one block each, so their time grows with the block.
func (p plan) fastestBlock(multiprocessors int) int {
	rows, cols := divide(p.rows(), tile), divide(p.cols, tile)
	atOnce := tilesAtOnce * max(1, multiprocessors)
	best, shortest := rows, math.Inf(1)
	for n := 1; n <= rows; n++ {
		rounds := rows/n*divide(n*cols, atOnce) + divide(rows%n*cols, atOnce)
		time := (float64(rounds) + blockOverhead*float64(divide(rows, n))) * (1 + float64(n)/float64(rows))
		if time < shortest {
			best, shortest = n, time
		}
	}
	return min(p.rows(), best*tile)
}

// errDoesNotFit is the error for a card on which even the smallest block does not fit.
var errDoesNotFit = errors.New("does not fit")

// fit reduces the blocks, and if that is not enough the panels, until the plan fits the bytes of
// the card's memory.
func (p plan) fit(bytes int64) (plan, error) {
	small := p
	small.block = min(p.block, tile)
	if small.bytes() > bytes {
		// In one piece it needs one slot, which may be less than several of the smallest.
		if whole := p.with(p.rows(), p.cols); whole.bytes() <= bytes {
			return whole, nil
		}
		p = small
		p.panel = min(p.cols, tile)
		p.panel = largest(p.panel, p.cols, func(n int) bool { return p.with(p.block, n).bytes() <= bytes })
		p.panel = min(p.cols, roundUp(divide(p.cols, divide(p.cols, p.panel)), tile)) // all about as wide
	}
	p.block = largest(min(p.block, tile), p.block, func(n int) bool { return p.with(n, p.panel).bytes() <= bytes })
	if p.bytes() > bytes {
		return p, errDoesNotFit
	}
	return p, nil
}

func (p plan) with(block, panel int) plan {
	p.block, p.panel = block, panel
	return p
}

// largest returns the largest number from low to high that fits, or low if none does. It is high
// or a multiple of tile where possible.
func largest(low, high int, fits func(int) bool) int {
	if fits(high) {
		return high
	}
	for n := (high - 1) / tile * tile; n > low; n -= tile {
		if fits(n) {
			return n
		}
	}
	return low
}

// usable is the part of a card's free memory that plans may take. The rest is for the workspace of
// cuBLAS and the fragmentation of the driver's allocations.
func usable(free int64) int64 { return free / 10 * 9 }

func divide(a, b int) int { return (a + b - 1) / b }

func roundUp(a, to int) int { return divide(a, to) * to }

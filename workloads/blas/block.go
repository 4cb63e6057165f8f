package blas

import (
	"math"
	"sync"
)

// blocking says how a product is cut. C is cut into blocks, each a task for one
// goroutine: into columns as wide as a block of B that fits the cache, and along the rows
// only where that leaves goroutines without a task, because what is packed of B
// is used in all rows of a task. That all end at the same time is not the cut's business:
// a goroutine that has nothing left is given a part of another's task.
type blocking struct {
	m, n, k int
	// kc is how far along K one pass goes, mr how many rows a strip has.
	kc, mr int
	// panels is the most panels of B in a block, nr columns each.
	panels int
	// rowTasks and colTasks are into how many tasks C's rows and columns are cut, of
	// rowStep and colStep each but the last.
	rowTasks, colTasks int
	rowStep, colStep   int
	threads            int
}

// tile is a block of C, or a part of one that is begun: what is before from along K
// is in it already.
type tile struct {
	row, col, rows, cols int
	from                 int
	begun                bool
}

func (b blocking) tasks() int { return b.colTasks * b.rowTasks }

// tile returns the i-th block. Neighbours share the columns, so the cores fetch the
// same part of B at about the same time.
func (b blocking) task(i int) tile {
	row, col := i%b.rowTasks*b.rowStep, i/b.rowTasks*b.colStep
	return tile{row: row, col: col, rows: min(b.rowStep, b.m-row), cols: min(b.colStep, b.n-col)}
}

// split divides what is left of a task whose next strip is at row i of the pass that begins at
// l: both parts have about as much to do, and the one that is given away has whole
// strips. It is the last rows, or the first ones from the next pass on. It is nothing where
// packing would take longer than the part.
func (b blocking) split(t tile, i, l int) (kept, given tile, ok bool) {
	start, end := t.row, t.row+t.rows
	later := divide(b.k-l, b.kc) - 1 // passes after this one
	kept, given = t, t
	given.begun = true

	tail := max(i, roundUp(divide((later+1)*end+i+later*start, 2*(later+1)), b.mr))
	head := start
	if later > 0 {
		head = min(i, ((later*(start+end)+end-i)/(2*later)-start)/b.mr*b.mr+start)
	}
	if (later+1)*(end-tail) >= later*(head-start) {
		kept.rows, given.row, given.rows, given.from = tail-start, tail, end-tail, l
	} else {
		kept.row, kept.rows, given.rows, given.from = head, end-head, head-start, l+b.kc
	}
	worth := given.rows >= leastRows && float64(given.rows)*float64(given.cols)*float64(b.k-given.from) >= sharedWork
	return kept, given, worth
}

const (
	// longest64 and longest32 are the most elements along K in one pass. Longer passes read
	// and write C less often, and leave room for fewer columns in the block of B, so that
	// A is read more often: 384 and 512 were within 1 % of each other, and a strip of 8 rows of
	// 384, 24 KiB, fits first-level caches of 32.
	longest64, longest32, shortest = 384, 448, 128
	// serialWork is the work (m n k) below which a goroutine costs more than it
	// saves, some 10 microseconds.
	serialWork = 64 * 64 * 64
	// lockedWork is the work from which on goroutines that have idle processors beside
	// them stay on their threads: some 10 ms of one core, after which the runtime interrupts
	// them.
	lockedWork = 512 * 1024 * 1024
	// sharedWork is the work from which on a part is given to a goroutine that waits,
	// which takes some 50 microseconds to wake up.
	sharedWork = 8 * serialWork
	// largestBlock is the most bytes of a block of B, see cacheBytes.
	largestBlock = 704 << 10
	// leastRows and leastPanels bound how small tasks get for want of others:
	// a packed element of B is used in as many rows, an element of A that was
	// fetched in as many panels.
	leastRows, leastPanels = 96, 4
)

// cacheBytes is what a block of B may take: half of the second-level cache, through
// whose other half A and C pass, and no more than is well kept. Which sets of the
// cache a block falls into depends on where the system has put its pages: of a cache
// of 2 MiB, blocks of 1 MiB lost up to 4 % of a product, another part in each process, and
// blocks of 704 KiB next to nothing (Emerald Rapids).
var cacheBytes = sync.OnceValue(func() int {
	return min(max(level2(), 512<<10)/2, largestBlock)
})

// block cuts a product of m x k by k x n, whose elements have size bytes.
func block(mr, nr, m, n, k, size, threads, cache int) blocking {
	b := blocking{m: m, n: n, k: k, mr: mr}
	threads = max(1, min(threads, int(float64(m)*float64(n)*float64(k)/serialWork)))
	b.kc = passLength(m, n, k, nr, size)
	b.panels = max(1, blockBytes(m, n, k, size, threads, cache)/(b.kc*nr*size))
	columns, strips := divide(n, nr), divide(m, mr)
	most := max(1, strips/divide(leastRows, mr))
	for b.panels > leastPanels && divide(columns, b.panels)*most < threads {
		b.panels = max(leastPanels, b.panels/2)
	}
	b.colTasks = divide(columns, b.panels)
	b.panels = divide(columns, b.colTasks)
	b.colStep = b.panels * nr
	b.colTasks = divide(n, b.colStep)

	b.rowTasks = min(most, divide(threads, b.colTasks))
	b.rowStep = divide(strips, b.rowTasks) * mr
	b.rowTasks = divide(m, b.rowStep)
	b.threads = min(threads, b.tasks())
	return b
}

// passLength is kc: passes of equal length, multiples of the kernels' 8 steps, and
// shorter ones where blocks for two goroutines would have too few panels. How
// many goroutines there are does not count, because where a pass ends a sum is
// rounded.
func passLength(m, n, k, nr, size int) int {
	longest := longest64
	if size == 4 {
		longest = longest32
	}
	longest = min(longest, max(shortest, blockBytes(m, n, k, size, 2, math.MaxInt)/(leastPanels*nr*size)))
	return min(k, roundUp(divide(k, divide(k, longest)), 8))
}

// blockBytes is how large the block of B of one goroutine may be: it fits the
// cache, and those of all goroutines together are 4 % of the operands (the
// panels of A and the strips of C are less than the fifth per cent). Small
// operands leave less than a block needs to be of use; then it is that.
func blockBytes(m, n, k, size, threads, cache int) int {
	operands := (float64(m)*float64(k) + float64(k)*float64(n) + float64(m)*float64(n)) * float64(size)
	const useful = 64 << 10
	return min(cache, max(useful, int(0.04*operands/float64(threads))))
}

func divide(a, b int) int { return (a + b - 1) / b }

func roundUp(a, to int) int { return divide(a, to) * to }

package blas

import (
	"math"
	"sync"
)

// blocking is how a product is cut. C is cut into blocks, each a task for one goroutine. Columns
// are cut to the width of a block of B that fits the cache. Rows are cut only where goroutines
// would be left without a task, because a packed block of B is used in all rows of a task. The cut
// need not make all goroutines finish at the same time: an idle goroutine gets part of another's
// task.
type blocking struct {
	m, n, k int
	// kc is the number of steps along K in one pass, mr the number of rows in a strip.
	kc, mr int
	// panels is the largest number of panels of B in a block, of nr columns each.
	panels int
	// rowTasks and colTasks are the numbers of tasks along C's rows and columns. Each but the last
	// has rowStep rows or colStep columns.
	rowTasks, colTasks int
	rowStep, colStep   int
	threads            int
}

// tile is a block of C, or the rest of a block that another goroutine began. The steps before from
// along K are already in C.
type tile struct {
	row, col, rows, cols int
	from                 int
	begun                bool
}

func (b blocking) tasks() int { return b.colTasks * b.rowTasks }

// task returns the i-th block. Consecutive tasks share their columns, so the cores fetch the same
// part of B at about the same time.
func (b blocking) task(i int) tile {
	row, col := i%b.rowTasks*b.rowStep, i/b.rowTasks*b.colStep
	return tile{row: row, col: col, rows: min(b.rowStep, b.m-row), cols: min(b.colStep, b.n-col)}
}

// split divides the rest of a task whose next strip is at row i of the pass that begins at l. Both
// parts have about the same work, and the part given away has whole strips: either the last rows of
// this pass, or the first rows from the next pass on. ok is false where packing would take longer
// than the part.
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
	// longest64 and longest32 are the most elements along K in one pass. Longer passes read and
	// write C less often. They also leave less space for columns in the block of B, so that A is
	// read more often. 384 and 512 were within 1 % of each other, and a strip of 8 rows of 384, 24
	// KiB, fits a first-level cache of 32 KiB.
	longest64, longest32, shortest = 384, 448, 128
	// serialWork is the work (m n k) below which a second goroutine costs more than it saves, some
	// 10 microseconds.
	serialWork = 64 * 64 * 64
	// lockedWork is the work from which goroutines stay on their threads when other processors are
	// idle: some 10 ms on one core, after which the runtime preempts a goroutine.
	lockedWork = 512 * 1024 * 1024
	// sharedWork is the smallest part that is given to a waiting goroutine, which takes some 50
	// microseconds to wake up.
	sharedWork = 8 * serialWork
	// largestBlock is the largest block of B in bytes; see blockOf.
	largestBlock = 704 << 10
	// leastRows and leastPanels are the smallest tasks that are cut to give every goroutine one. A
	// packed element of B is used in as many rows, a fetched element of A in as many panels.
	leastRows, leastPanels = 96, 4
)

// cacheBytes is the largest size of a block of B on this machine.
var cacheBytes = sync.OnceValue(func() int { return blockOf(level2()) })

// blockOf is the largest size of a block of B for a second-level cache of that many bytes: half of
// the cache, and no more than largestBlock. A and C pass through the other half. The cache sets of
// a block depend on where the system puts its pages. On a cache of 2 MiB, blocks of 1 MiB lost up
// to 4 % of a product, in a different part of each process; blocks of 704 KiB lost next to nothing
// (Emerald Rapids).
func blockOf(level2 int) int { return min(max(level2, 512<<10)/2, largestBlock) }

// block cuts a product of m x k by k x n into tasks. size is the bytes of an element, cache the
// largest block of B in bytes.
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

// passLength returns kc: passes of equal length, a multiple of the kernels' 8 steps. Passes are
// shorter where blocks for two goroutines would have too few panels. The number of goroutines does
// not count, because each sum is rounded at the end of a pass and results must not depend on it.
func passLength(m, n, k, nr, size int) int {
	longest := longest64
	if size == 4 {
		longest = longest32
	}
	longest = min(longest, max(shortest, blockBytes(m, n, k, size, 2, math.MaxInt)/(leastPanels*nr*size)))
	return min(k, roundUp(divide(k, divide(k, longest)), 8))
}

// blockBytes is the largest block of B of one goroutine: it fits the cache, and the blocks of all
// goroutines together are 4 % of the operands. (The panels of A and the strips of C are less than
// another percent.) Small operands get the smallest useful block.
func blockBytes(m, n, k, size, threads, cache int) int {
	operands := (float64(m)*float64(k) + float64(k)*float64(n) + float64(m)*float64(n)) * float64(size)
	const useful = 64 << 10
	return min(cache, max(useful, int(0.04*operands/float64(threads))))
}

// divide returns a / b, rounded up.
func divide(a, b int) int { return (a + b - 1) / b }

// roundUp returns the smallest multiple of to that is at least a.
func roundUp(a, to int) int { return divide(a, to) * to }

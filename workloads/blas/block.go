package blas

import (
	"math"
	"sync"
)

// blocking says how a product is cut. C is cut into blocks, each a task for one
// goroutine, along both of its sides: a cut along one side alone would leave
// too few tasks, or too narrow ones, for many cores.
type blocking struct {
	m, n int
	// kc is how far along K one pass goes.
	kc int
	// panels is the most panels of B in a block, nr columns each.
	panels int
	// colTasks is into how many tasks C's columns are cut, colStep how many of them
	// each but the last has. The first tall of them have all rows; of the others,
	// the rows are cut into rowTasks, of rowStep each but the last.
	rowTasks, colTasks, tall int
	rowStep, colStep         int
	threads                  int
}

// task is a block of C.
type task struct{ row, col, rows, cols int }

func (b blocking) tasks() int { return b.tall + (b.colTasks-b.tall)*b.rowTasks }

// task returns the i-th block. The tall ones come first: what is packed of B
// is used in all rows, and the smaller ones even out when the goroutines end.
// Of those, neighbours share the columns, so the cores fetch the same part of
// B at about the same time.
func (b blocking) task(i int) task {
	if i < b.tall {
		return task{0, i * b.colStep, b.m, min(b.colStep, b.n-i*b.colStep)}
	}
	i -= b.tall
	row, col := i%b.rowTasks*b.rowStep, (b.tall+i/b.rowTasks)*b.colStep
	return task{row, col, min(b.rowStep, b.m-row), min(b.colStep, b.n-col)}
}

const (
	// longest64 and longest32 are the most elements along K in one pass. A strip of
	// 8 rows of A, 24 KiB or less, stays in the first-level cache while all panels
	// of the block of B run past it; longer passes read and write C less often.
	longest64, longest32, shortest = 384, 576, 128
	// serialWork is the work (m n k) below which a goroutine costs more than it
	// saves, some 10 microseconds.
	serialWork = 64 * 64 * 64
	// lockedWork is the work from which on goroutines stay on their threads: some 10 ms
	// of one core, after which the runtime interrupts them.
	lockedWork = 512 * 1024 * 1024
	// leastRows and leastPanels bound how small tasks get for want of others:
	// a packed element of B is used in as many rows, an element of A that was
	// fetched in as many panels.
	leastRows, leastPanels = 96, 4
	// spare is how many tasks each goroutine gets, so that those whose core is
	// taken away for a while leave work to the others.
	spare = 4
)

// cacheBytes is what a block of B may take: half of the second-level cache,
// whose other half A and C pass through.
var cacheBytes = sync.OnceValue(func() int {
	return min(max(level2(), 512<<10), 2<<20) / 2
})

// block cuts a product of m x k by k x n, whose elements have size bytes.
func block(mr, nr, m, n, k, size, threads, cache int) blocking {
	b := blocking{m: m, n: n}
	threads = max(1, min(threads, int(float64(m)*float64(n)*float64(k)/serialWork)))
	b.kc = passLength(m, n, k, nr, size)
	b.panels = max(1, blockBytes(m, n, k, size, threads, cache)/(b.kc*nr*size))
	columns, strips := divide(n, nr), divide(m, mr)
	most := strips / divide(leastRows, mr)
	for threads > 1 && b.panels > leastPanels && divide(columns, b.panels)*max(1, most) < spare*threads {
		b.panels = max(leastPanels, b.panels/2)
	}
	b.colTasks = divide(columns, b.panels)
	b.panels = divide(columns, b.colTasks)
	b.colStep = b.panels * nr
	b.colTasks = divide(n, b.colStep)

	b.tall = max(0, b.colTasks/threads-1) * threads
	b.rowTasks = rowTasks(b.tall, b.colTasks-b.tall, max(1, most), threads)
	b.rowStep = divide(strips, b.rowTasks) * mr
	b.rowTasks = divide(m, b.rowStep)
	b.threads = min(threads, b.tasks())
	return b
}

// passLength is kc: passes of equal length, multiples of the kernels' 4 steps, and
// shorter ones where blocks for two goroutines would have too few panels. How
// many goroutines there are does not count, because where a pass ends a sum is
// rounded.
func passLength(m, n, k, nr, size int) int {
	longest := longest64
	if size == 4 {
		longest = longest32
	}
	longest = min(longest, max(shortest, blockBytes(m, n, k, size, 2, math.MaxInt)/(leastPanels*nr*size)))
	return min(k, roundUp(divide(k, divide(k, longest)), 4))
}

// rowTasks is into how many the rows of the columns behind the tall tasks are
// cut: so many that the goroutines end at about the same time, whenever each of them
// was done with the tall ones, and that all get the same number where that comes with
// few more. A few goroutines share each column evenly, since the last is narrower.
func rowTasks(tall, columns, most, threads int) int {
	if threads == 1 {
		return 1
	}
	least := max(1, min(most, divide(spare*threads, columns)))
	if threads <= min(spare, most) {
		return min(roundUp(least, threads), most/threads*threads)
	}
	for r := least; r <= min(most, least+threads); r++ {
		if (tall+r*columns)%threads == 0 {
			return r
		}
	}
	return least
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

package blas

import (
	"sync"
	"sync/atomic"
)

// tasks hands a product's blocks to its goroutines. When no block is left, it hands out parts of
// the blocks that others still compute. So all goroutines finish at about the same time, even if
// one core is slower or is taken away for a while.
type tasks struct {
	blocking blocking
	// wanted is whether a goroutine waits for a part that no other has given yet. It is read at
	// every strip, so it is outside the lock.
	wanted atomic.Bool

	mutex sync.Mutex
	// changed is signalled when a part is available, and when no more parts will come.
	changed sync.Cond
	// next is the number of blocks handed out; parts are split off and not yet taken.
	next  int
	parts []tile
	// working counts goroutines with a task, waiting those that wait for a part.
	working, waiting int
}

func newTasks(b blocking) *tasks {
	q := &tasks{blocking: b}
	q.changed.L = &q.mutex
	return q
}

// take returns a task, for which the caller must call finish. It waits while others may give a part
// away, and returns false when nothing is left.
func (q *tasks) take() (tile, bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.next < q.blocking.tasks() {
		t := q.blocking.task(q.next)
		q.next++
		q.working++
		return t, true
	}
	q.waiting++
	for len(q.parts) == 0 && q.working > 0 {
		q.updateWanted()
		q.changed.Wait()
	}
	q.waiting--
	if len(q.parts) == 0 {
		return tile{}, false
	}
	t := q.parts[len(q.parts)-1]
	q.parts = q.parts[:len(q.parts)-1]
	q.updateWanted()
	q.working++
	return t, true
}

// finish ends a task that take returned. The last one wakes the goroutines that wait.
func (q *tasks) finish() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.working--
	if q.working == 0 {
		q.changed.Broadcast()
	}
}

// share gives part of a task to a waiting goroutine, and returns the rest. It returns the whole
// task if no goroutine waits or the part would be too small. The next strip is at row i of the pass
// that begins at l.
func (q *tasks) share(t tile, i, l int) tile {
	kept, given, ok := q.blocking.split(t, i, l)
	if !ok {
		return t
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.waiting <= len(q.parts) {
		return t // another goroutine gave its part first
	}
	q.parts = append(q.parts, given)
	q.updateWanted()
	q.changed.Signal()
	return kept
}

// updateWanted recomputes wanted; the caller holds the lock.
func (q *tasks) updateWanted() { q.wanted.Store(q.waiting > len(q.parts)) }

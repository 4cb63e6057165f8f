package blas

import (
	"sync"
	"sync/atomic"
)

// tasks hands a product's blocks to its goroutines, and when there are none left, parts
// of those that others are still at: then all end at about the same time, also where a
// core is slower than the others or is taken away for a while.
type tasks struct {
	blocking blocking
	// wanted is whether someone waits for a part that no one has given yet. It is read
	// at every strip, so it is outside of the lock.
	wanted atomic.Bool

	mutex sync.Mutex
	// changed is told when there is a part, and when there will be no more.
	changed sync.Cond
	// next is the number of blocks handed out, parts what was split off.
	next  int
	parts []tile
	// working is how many goroutines have a task, waiting how many wait for a part.
	working, waiting int
}

func newTasks(b blocking) *tasks {
	q := &tasks{blocking: b}
	q.changed.L = &q.mutex
	return q
}

// take returns a task. It waits while others may give a part away, and says no
// when there is nothing left. Who took a task says when it is done, by finish.
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
		q.want()
		q.changed.Wait()
	}
	q.waiting--
	if len(q.parts) == 0 {
		return tile{}, false
	}
	t := q.parts[len(q.parts)-1]
	q.parts = q.parts[:len(q.parts)-1]
	q.want()
	q.working++
	return t, true
}

// finish says that a task is done.
func (q *tasks) finish() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.working--
	if q.working == 0 {
		q.changed.Broadcast()
	}
}

// share gives a part of a task away if someone waits for one, and returns what is left of
// it. The next strip is at row i of the pass that begins at l.
func (q *tasks) share(t tile, i, l int) tile {
	kept, given, ok := q.blocking.split(t, i, l)
	if !ok {
		return t
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.waiting <= len(q.parts) {
		return t // another was faster
	}
	q.parts = append(q.parts, given)
	q.want()
	q.changed.Signal()
	return kept
}

func (q *tasks) want() { q.wanted.Store(q.waiting > len(q.parts)) }

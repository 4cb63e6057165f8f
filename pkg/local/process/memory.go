//go:build unix

package process

import (
	"sync"
	"syscall"
	"time"
)

// memoryEvery is how often the memory of running attempts is checked. An attempt that ends before
// the second check is never measured, so short jobs cost nothing.
const memoryEvery = time.Second

// memoryWatch kills attempts that use more memory than their container may. On Batch the kernel
// does so immediately; here it happens at the next check.
type memoryWatch struct {
	mu     sync.Mutex
	limits map[int]*memoryLimit // by process group
	timer  *time.Timer          // nil while nothing runs
}

// memoryLimit is the memory that an attempt may use.
type memoryLimit struct {
	group  int
	bytes  int64
	ranOut func() bool // reports that the kernel, which keeps this limit, killed a process; nil: it does not keep it
	old    bool        // it existed at an earlier check
	killed bool
}

// add begins to watch a process group; 0 bytes means no limit. ranOut is nil unless the kernel keeps the limit: then
// the rest of the group is killed after one of its processes, since it may wait for that.
func (w *memoryWatch) add(group int, bytes int64, ranOut func() bool) *memoryLimit {
	if !canWatchMemory || w == nil || bytes == 0 {
		return nil
	}
	l := &memoryLimit{group: group, bytes: bytes, ranOut: ranOut}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limits == nil {
		w.limits = map[int]*memoryLimit{}
	}
	w.limits[group] = l
	if w.timer == nil {
		w.timer = time.AfterFunc(memoryEvery, w.check)
	}
	return l
}

// remove ends the watch before the group's number can be reused, and reports whether the group was
// killed.
func (w *memoryWatch) remove(l *memoryLimit) bool {
	if l == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.limits, l.group)
	return l.killed
}

// check kills the groups that use too much.
func (w *memoryWatch) check() {
	var sampled []*memoryLimit
	for _, l := range w.old() {
		switch {
		case l.ranOut == nil:
			sampled = append(sampled, l)
		case l.ranOut():
			w.kill(l)
		}
	}
	for _, l := range tooLarge(sampled) {
		w.kill(l)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer = nil; len(w.limits) > 0 {
		w.timer = time.AfterFunc(memoryEvery, w.check)
	}
}

// old returns the groups that existed at an earlier check. So a series of short jobs is never
// measured.
func (w *memoryWatch) old() []*memoryLimit {
	w.mu.Lock()
	defer w.mu.Unlock()
	var old []*memoryLimit
	for _, l := range w.limits {
		if l.old {
			old = append(old, l)
		}
		l.old = true
	}
	return old
}

// kill kills a group if it is still watched: otherwise its number could belong to another.
func (w *memoryWatch) kill(l *memoryLimit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limits[l.group] == l {
		l.killed = true
		signalGroup(l.group, syscall.SIGKILL)
	}
}

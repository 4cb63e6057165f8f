package model

import (
	"slices"
)

// Ordered is a list of tasks in the order of submission.
type Ordered []*Task

// insert adds a task at its position, mostly at the end.
func (o *Ordered) insert(t *Task) {
	if n := len(*o); n == 0 || (*o)[n-1].compare(t) < 0 {
		*o = append(*o, t)
		return
	}
	at, _ := slices.BinarySearchFunc(*o, t, (*Task).compare)
	*o = slices.Insert(*o, at, t)
}

// remove takes a task out of the list; it must be in it.
func (o *Ordered) remove(t *Task) {
	at, ok := 0, len(*o) > 0 && (*o)[0] == t
	if !ok {
		at, ok = slices.BinarySearchFunc(*o, t, (*Task).compare)
	}
	switch {
	case !ok:
	case at == 0: // jobs mostly leave at the head; nothing is moved then
		(*o)[0] = nil
		*o = (*o)[1:]
	case at < len(*o)/2: // the shorter part moves
		copy((*o)[1:at+1], (*o)[:at])
		(*o)[0] = nil
		*o = (*o)[1:]
	default:
		*o = slices.Delete(*o, at, at+1)
	}
}

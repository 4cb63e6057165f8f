package local

import (
	"context"
	"slices"
	"sync"
	"time"
)

// waiters wait for conditions on the state of an engine.
type waiters struct {
	mu  sync.Locker // the engine's lock
	all []*waiter
}

// waiter waits until still is true for a while.
type waiter struct {
	still   func() bool // is called with the engine's lock held
	rested  bool        // the last result of still
	changed chan struct{}
}

// wait returns when still has been true for the duration quiet without any change.
func (s *waiters) wait(ctx context.Context, quiet time.Duration, still func() bool) error {
	w := &waiter{still: still}
	s.mu.Lock()
	s.all = append(s.all, w)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = slices.DeleteFunc(s.all, func(other *waiter) bool { return other == w })
	}()
	for {
		changed := make(chan struct{})
		s.mu.Lock()
		w.rested, w.changed = still(), changed
		rested := w.rested
		s.mu.Unlock()
		var rest <-chan time.Time
		if rested {
			rest = time.After(quiet)
		}
		select {
		case <-changed:
		case <-rest:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// notify wakes waiters whose condition may have changed. The caller holds the engine's lock.
func (s *waiters) notify() {
	for _, w := range s.all {
		if w.changed != nil && (w.rested || w.still()) {
			close(w.changed)
			w.changed = nil
		}
	}
}

// subscribers receive after each change of the model.
type subscribers struct {
	mu       sync.Locker // the engine's lock
	channels map[chan struct{}]bool
}

// subscribe returns a channel that receives after changes of the model, until cancel is called.
func (s *subscribers) subscribe() (changed <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[c] = true
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.channels, c)
	}
}

// publish tells subscribers that the model has changed. The caller holds the engine's lock.
func (s *subscribers) publish() {
	for c := range s.channels {
		select {
		case c <- struct{}{}:
		default: // it has yet to receive an earlier change
		}
	}
}

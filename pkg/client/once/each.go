package once

import "sync"

// onceEach does something once for each name, however many jobs of a run ask for it concurrently.
// Its zero value is ready to use.
type onceEach struct {
	mu  sync.Mutex
	all map[string]*errand
}

// errand is an action that is done or in progress.
type errand struct {
	over chan struct{}
	err  error
}

// do calls action, unless it was called for this name before, and returns its error. Concurrent
// callers wait for the first call.
func (o *onceEach) do(name string, action func() error) error {
	o.mu.Lock()
	e, known := o.all[name]
	if !known {
		if o.all == nil {
			o.all = map[string]*errand{}
		}
		e = &errand{over: make(chan struct{})}
		o.all[name] = e
	}
	o.mu.Unlock()
	if known {
		<-e.over
		return e.err
	}
	defer close(e.over)
	e.err = action()
	return e.err
}

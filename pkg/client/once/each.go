package once

import "sync"

// onceEach does something once for each name, however many jobs of a run ask for it
// side by side. Its zero value is ready.
type onceEach struct {
	mu  sync.Mutex
	all map[string]*errand
}

// errand is something that is done, or being done.
type errand struct {
	over chan struct{}
	err  error
}

// do returns what the one call said. Who comes while it is made waits for it.
func (o *onceEach) do(name string, what func() error) error {
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
	e.err = what()
	return e.err
}

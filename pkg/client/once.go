package client

import "sync"

// onceEach does something once for each name, however many jobs of a run ask for it
// side by side. Its zero value is ready.
type onceEach struct {
	mu  sync.Mutex
	all map[string]func() error
}

// do returns what the one call said.
func (o *onceEach) do(name string, what func() error) error {
	o.mu.Lock()
	once := o.all[name]
	if once == nil {
		if o.all == nil {
			o.all = map[string]func() error{}
		}
		once = sync.OnceValue(what)
		o.all[name] = once
	}
	o.mu.Unlock()
	return once()
}

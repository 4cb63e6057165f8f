package once

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

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

// eachJob processes jobs, n concurrently, each after the jobs that it needs and otherwise in the
// order of the plan. After an error, or when ctx ends, it starts no further job and waits for
// those in progress.
func eachJob(ctx context.Context, tasks []*plannedJob, n int, do func(*plannedJob) error,
	needs func(*plannedJob, int) []int) (first error) {
	waits, dependents := make([]int, len(tasks)), make([][]int, len(tasks))
	var ready []int
	for i, t := range tasks {
		for _, on := range needs(t, i) {
			waits[i]++
			dependents[on] = append(dependents[on], i)
		}
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	type outcome struct {
		task int
		err  error
	}
	outcomes := make(chan outcome)
	for running := 0; ; {
		for running < n && len(ready) > 0 && first == nil {
			if ctx.Err() != nil {
				first = context.Cause(ctx)
				break
			}
			i := ready[0]
			ready = ready[1:]
			running++
			go func() { outcomes <- outcome{i, do(tasks[i])} }()
		}
		if running == 0 {
			return first
		}
		o := <-outcomes
		running--
		first = cmp.Or(first, o.err)
		for _, i := range dependents[o.task] {
			if waits[i]--; waits[i] == 0 {
				at, _ := slices.BinarySearch(ready, i)
				ready = slices.Insert(ready, at, i)
			}
		}
	}
}

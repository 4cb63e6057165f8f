package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// drill makes attempts fail as instances and containers do.
type drill struct {
	blows []attempt.Blow
	// reference has the running times of an undrilled run.
	reference map[RunKey]time.Duration
	// done is how many failures a task has had.
	done map[*model.Task]int
}

// RunKey names a job or a child in two runs of the same file.
type RunKey struct {
	Name  string
	Index int32 // of a child; -1 for a job
}

// Drill makes the attempts fail that start from now on: each task has the failures in turn. reference is what
// RunningTimes returned after an undrilled run; failures at a percentage need it.
func (e *Engine) Drill(blows []attempt.Blow, reference map[RunKey]time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drill = &drill{blows: blows, reference: reference, done: map[*model.Task]int{}}
}

// RunningTimes returns how long the attempts of jobs, and of their children, ran in total.
func (e *Engine) RunningTimes(ids ...string) map[RunKey]time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	times := map[RunKey]time.Duration{}
	for _, id := range ids {
		t := e.model.Task(id)
		if t == nil {
			continue
		}
		times[runKey(t)] = ranFor(t)
		for i := range t.Job.Children {
			child := &t.Job.Children[i]
			times[runKey(child)] = ranFor(child)
		}
	}
	return times
}

// String is the name of a job, or of a child with its index.
func (k RunKey) String() string {
	if k.Index < 0 {
		return k.Name
	}
	return fmt.Sprintf("%s:%d", k.Name, k.Index)
}

// Unharmed returns the jobs and children that ended before all failures of the drill.
func (e *Engine) Unharmed(ids ...string) (keys []RunKey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		t := e.model.Task(id)
		if t == nil || e.drill == nil {
			continue
		}
		if !t.IsParent() && e.drill.done[t] < len(e.drill.blows) {
			keys = append(keys, runKey(t))
		}
		for i := range t.Job.Children {
			if child := &t.Job.Children[i]; e.drill.done[child] < len(e.drill.blows) {
				keys = append(keys, runKey(child))
			}
		}
	}
	return keys
}

// runKey returns the key of a task.
func runKey(t *model.Task) RunKey { return RunKey{Name: *t.Job.Request.JobName, Index: t.Index} }

// ranFor returns how long the ended attempts of a task ran.
func ranFor(t *model.Task) (total time.Duration) {
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.StartedAt != 0 && a.StoppedAt > a.StartedAt {
			total += time.Duration(a.StoppedAt-a.StartedAt) * time.Millisecond
		}
	}
	return total
}

// strike schedules the next failure of a task whose command has just started.
func (e *Engine) strike(ctx context.Context, t *model.Task, end context.CancelCauseFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.drill
	if d == nil || d.done[t] >= len(d.blows) {
		return
	}
	b := d.blows[d.done[t]]
	timer := time.AfterFunc(max(0, b.After(d.reference[runKey(t)])-ranFor(t)), func() { end(b.Cause) })
	context.AfterFunc(ctx, func() { timer.Stop() })
}

// struck records that a failure of a drill ended an attempt. The caller holds e.mu.
func (e *Engine) struck(t *model.Task, cause error) {
	if e.drill != nil && (errors.Is(cause, attempt.ErrReclaimed) || errors.Is(cause, attempt.ErrOutOfMemory)) {
		e.drill.done[t]++
	}
}

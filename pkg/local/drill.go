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
	// outlived are the tasks that succeeded after the SIGTERM of a failure.
	outlived map[*model.Task]bool
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
	e.drill = &drill{blows: blows, reference: reference, done: map[*model.Task]int{}, outlived: map[*model.Task]bool{}}
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

// Unharmed is a job or child that did not have all failures of a drill.
type Unharmed struct {
	RunKey
	// Outlived means that it succeeded in the time between SIGTERM and SIGKILL. Otherwise it ended before a failure.
	Outlived bool
}

// Unharmed returns the jobs and children that did not have all failures of the drill.
func (e *Engine) Unharmed(ids ...string) (tasks []Unharmed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		t := e.model.Task(id)
		if t == nil || e.drill == nil {
			continue
		}
		if !t.IsParent() && e.drill.done[t] < len(e.drill.blows) {
			tasks = append(tasks, Unharmed{runKey(t), e.drill.outlived[t]})
		}
		for i := range t.Job.Children {
			if child := &t.Job.Children[i]; e.drill.done[child] < len(e.drill.blows) {
				tasks = append(tasks, Unharmed{runKey(child), e.drill.outlived[child]})
			}
		}
	}
	return tasks
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

// struck records that a failure of a drill ended an attempt, or that the attempt succeeded nevertheless. The caller
// holds e.mu.
func (e *Engine) struck(t *model.Task, o model.Outcome, cause error) {
	switch {
	case e.drill == nil || !errors.Is(cause, attempt.ErrReclaimed) && !errors.Is(cause, attempt.ErrOutOfMemory):
	case attempt.Succeeded(o):
		e.drill.outlived[t] = true
	default:
		e.drill.done[t]++
	}
}

package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// faultDrill makes attempts fail as instances and containers do. It does nothing until Drill is
// called.
type faultDrill struct {
	mu   sync.Locker                 // the engine's lock
	task func(id string) *model.Task // of the engine's model; nil if there is no such task
	// blows are the failures that each task has in turn.
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
func (d *faultDrill) Drill(blows []attempt.Blow, reference map[RunKey]time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blows, d.reference = blows, reference
	d.done, d.outlived = map[*model.Task]int{}, map[*model.Task]bool{}
}

// RunningTimes returns how long the attempts of jobs, and of their children, ran in total.
func (d *faultDrill) RunningTimes(ids ...string) map[RunKey]time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	times := map[RunKey]time.Duration{}
	for _, t := range d.tasks(ids) {
		times[runKey(t)] = ranFor(t)
	}
	return times
}

// tasks returns the tasks of jobs, each before its children.
func (d *faultDrill) tasks(ids []string) (tasks []*model.Task) {
	for _, id := range ids {
		t := d.task(id)
		if t == nil {
			continue
		}
		tasks = append(tasks, t)
		for i := range t.Job.Children {
			tasks = append(tasks, &t.Job.Children[i])
		}
	}
	return tasks
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
func (d *faultDrill) Unharmed(ids ...string) (tasks []Unharmed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tasks(ids) {
		if !t.IsParent() && d.done[t] < len(d.blows) {
			tasks = append(tasks, Unharmed{runKey(t), d.outlived[t]})
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
func (d *faultDrill) strike(ctx context.Context, t *model.Task, end context.CancelCauseFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done[t] >= len(d.blows) {
		return
	}
	b := d.blows[d.done[t]]
	timer := time.AfterFunc(max(0, b.After(d.reference[runKey(t)])-ranFor(t)), func() { end(b.Cause) })
	context.AfterFunc(ctx, func() { timer.Stop() })
}

// struck records that a failure of a drill ended an attempt, or that the attempt succeeded nevertheless. The caller
// holds the engine's lock.
func (d *faultDrill) struck(t *model.Task, o model.Outcome, cause error) {
	switch {
	case d.done == nil || !errors.Is(cause, attempt.ErrReclaimed) && !errors.Is(cause, attempt.ErrOutOfMemory):
	case attempt.Succeeded(o):
		d.outlived[t] = true
	default:
		d.done[t]++
	}
}
